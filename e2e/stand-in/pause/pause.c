// The sandbox process of a pod: it holds the pod's namespaces, reaps the processes that it inherits, and
// ends on SIGTERM or SIGINT.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void reap(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction ends = {.sa_handler = end};
  struct sigaction reaps = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
  if (sigaction(SIGTERM, &ends, NULL) != 0 || sigaction(SIGINT, &ends, NULL) != 0 ||
      sigaction(SIGCHLD, &reaps, NULL) != 0) {
    return EXIT_FAILURE;
  }
  for (;;) {
    pause();
  }
}
