/*
 * Simulates the part of the driver's nvidia-cuda-mps-control that Tranche calls. The daemon only runs. Its state is in
 * files of its pipe folder, which the calls with commands read and write.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 1024 };

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? otherwise : value;
}

static void path_of(char *path, const char *folder, const char *name)
{
    if (snprintf(path, PATH_SIZE, "%s/%s", folder, name) >= PATH_SIZE)
        exit(2);
}

static void in_pipe_folder(char *path, const char *name)
{
    path_of(path, variable("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), name);
}

static FILE *told(void)
{
    char path[PATH_SIZE];
    path_of(path, variable("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps"), "told");
    FILE *file = fopen(path, "ae");
    if (file == NULL) {
        printf("Cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return file;
}

/* A zombie, which has ended but which no process has waited for, has no command line. */
static int alive(int pid)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int first = fgetc(file);
    fclose(file);
    return first != EOF;
}

static int running(void)
{
    char path[PATH_SIZE];
    int pid = 0;
    in_pipe_folder(path, "nvidia-cuda-mps-control.pid");
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid > 0 && alive(pid) ? pid : 0;
}

static void keep(const char *name, const char *value)
{
    char path[PATH_SIZE];
    in_pipe_folder(path, name);
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        fprintf(file, "%s\n", value);
        fclose(file);
    }
}

static void show(const char *name, const char *otherwise)
{
    char path[PATH_SIZE], value[LINE_SIZE];
    in_pipe_folder(path, name);
    FILE *file = fopen(path, "re");
    printf("%s", file != NULL && fgets(value, sizeof value, file) != NULL ? value : otherwise);
    if (file != NULL)
        fclose(file);
}

/* Starts a server that does not react to "quit", like a server with a stuck client. */
static void serve(void)
{
    char number[32];
    pid_t pid = fork();
    if (pid > 0) {
        snprintf(number, sizeof number, "%d", (int)pid);
        keep("server.pid", number);
    }
}

static int start(void)
{
    char number[32];
    if (running()) {
        printf("An instance of this daemon is already running\n");
        return 1;
    }
    FILE *file = told();
    fprintf(file, "start %s\n", variable("CUDA_VISIBLE_DEVICES", "all"));
    fclose(file);
    keep("percentage", "100.0");
    keep("control", "");
    pid_t pid = fork();
    if (pid < 0)
        return 1;
    if (pid > 0) {
        snprintf(number, sizeof number, "%d", (int)pid);
        keep("nvidia-cuda-mps-control.pid", number);
        return 0;
    }
    setsid();
    if (freopen("/dev/null", "r", stdin) == NULL || freopen("/dev/null", "w", stdout) == NULL ||
        freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    serve();
    for (;;)
        pause();
}

static int quit(int pid)
{
    char path[PATH_SIZE];
    in_pipe_folder(path, "nvidia-cuda-mps-control.pid");
    unlink(path);
    in_pipe_folder(path, "control");
    unlink(path);
    return kill(pid, SIGTERM) == 0 ? 0 : 1;
}

static int command(const char *line, int pid)
{
    char name[LINE_SIZE], device[LINE_SIZE], value[LINE_SIZE];
    FILE *file = told();
    fprintf(file, "%s\n", line);
    fclose(file);
    if (strcmp(line, "quit") == 0)
        return quit(pid);
    if (strcmp(line, "get_default_active_thread_percentage") == 0) {
        show("percentage", "100.0\n");
    } else if (sscanf(line, "set_default_active_thread_percentage %1023s", value) == 1) {
        keep("percentage", value);
    } else if (sscanf(line, "set_default_device_pinned_mem_limit %1000s %1000s", device, value) == 2) {
        snprintf(name, sizeof name, "limit-%.900s", device);
        keep(name, value);
    } else if (sscanf(line, "get_default_device_pinned_mem_limit %1000s", device) == 1) {
        snprintf(name, sizeof name, "limit-%.900s", device);
        show(name, "0G\n");
    } else {
        printf("Unknown command: %s\n", line);
    }
    return 0;
}

int main(int argc, char **argv)
{
    char line[LINE_SIZE];
    if (argc > 1)
        return strcmp(argv[1], "-d") == 0 ? start() : 2;
    int pid = running(), status = 0;
    if (!pid) {
        printf("Cannot find MPS control daemon process\n");
        return 1;
    }
    while (status == 0 && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0')
            status = command(line, pid);
    }
    return status;
}
