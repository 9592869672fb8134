/*
 * gpu-load: takes memory of the first visible GPU and keeps it busy, by the driver's own library alone.
 *
 *   gpu-load --busy PERCENT --memory AMOUNT [--simulated]   for example --busy 30 --memory 2Gi
 *   gpu-load --release   lets the container's gpu-load free its memory, except 64 MiB
 *
 * --simulated takes and does nothing, but keeps to its limits: a simulated NVML reports the options of the processes that run.
 * The numbers of the driver's interface are those of cuda.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB (1024L * 1024)
#define KEPT_MIB 64
#define PERIOD_NS 100000000L
#define MULTIPROCESSOR_COUNT 16
#define OUT_OF_MEMORY 2
#define THREADS 256
#define NO_MEMORY "the GPU has no %ld MiB left for this container"
#define SIMULATED_MULTIPROCESSORS 40

/* Multiplies and adds as often as it is told. */
static const char kernel_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry spin(.param .u64 out, .param .u32 times) {\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .f32 %f<3>;\n"
    "  .reg .b32 %r<3>;\n"
    "  .reg .b64 %d<2>;\n"
    "  ld.param.u64 %d1, [out];\n"
    "  ld.param.u32 %r1, [times];\n"
    "  mov.u32 %r2, 0;\n"
    "  mov.f32 %f1, 0f3F800000;\n"
    "  mov.f32 %f2, 0f3F7FFFFF;\n"
    "again:\n"
    "  fma.rn.f32 %f1, %f1, %f2, %f2;\n"
    "  add.u32 %r2, %r2, 1;\n"
    "  setp.lt.u32 %p1, %r2, %r1;\n"
    "  @%p1 bra again;\n"
    "  st.global.f32 [%d1], %f1;\n"
    "  ret;\n"
    "}\n";

static void *driver;
static volatile sig_atomic_t released;

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static void *function(const char *name) {
  void *found = dlsym(driver, name);
  if (!found) fail("the driver's libcuda.so.1 lacks %s", name);
  return found;
}

static int called(const char *name, int status) {
  if (status != 0) fail("%s answers %d, see CUresult in cuda.h", name, status);
  return status;
}

/* All of them take pointers and integers, so one type of function does. */
#define CALL(name, ...) called(name, ((int (*)())function(name))(__VA_ARGS__))

static void on_signal(int number) {
  (void)number;
  released = 1;
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void sleep_ns(int64_t ns) {
  struct timespec time = {ns / 1000000000L, ns % 1000000000L};
  if (ns > 0) nanosleep(&time, NULL);
}

/* Takes it in pieces, since a limit may refuse a large one where small ones fit. */
static uint64_t take(long mib) {
  uint64_t pointer = 0;
  int status = ((int (*)(uint64_t *, size_t))function("cuMemAlloc_v2"))(&pointer, (size_t)mib * MIB);
  if (status == OUT_OF_MEMORY) fail(NO_MEMORY, mib);
  called("cuMemAlloc_v2", status);
  CALL("cuMemsetD8_v2", pointer, 1, (size_t)mib * MIB);
  return pointer;
}

static void *open_driver(void) {
  /* Where no hook has told the loader of it, it lies where the distributions of hosts have it. */
  static const char *const places[] = {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                                       "/usr/lib/libcuda.so.1"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    void *library = dlopen(places[i], RTLD_NOW | RTLD_GLOBAL);
    if (library) return library;
  }
  fail("%s", dlerror());
  return NULL;
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "-";
}

/* By which a framework sizes itself. */
static void say_limits(void) {
  printf(", reads %s of it, %s MiB", variable("TRANCHE_GPU_FRACTION"), variable("TRANCHE_GPU_MEMORY_MIB"));
}

static void say_what_is_visible(int device, int multiprocessors) {
  unsigned char uuid[16];
  char name[96] = "";
  size_t free_bytes = 0, total_bytes = 0;
  CALL("cuDeviceGetUuid_v2", uuid, device);
  CALL("cuDeviceGetName", name, (int)sizeof name - 1, device);
  CALL("cuMemGetInfo_v2", &free_bytes, &total_bytes);
  printf("visible GPU-");
  for (int i = 0; i < 16; i++) printf(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
  printf(" %s, %d multiprocessors", name, multiprocessors);
  say_limits();
  printf(", the driver's %zu of %zu MiB free\n", free_bytes / MIB, total_bytes / MIB);
}

/* Runs kernels for a part of each period, and measures how long one takes. */
static void work(int busy, long mib) {
  int device = 0, multiprocessors = 1;
  void *context, *module, *spin;
  driver = open_driver();
  CALL("cuInit", 0);
  CALL("cuDeviceGet", &device, 0);
  CALL("cuDevicePrimaryCtxRetain", &context, device);
  CALL("cuCtxSetCurrent", context);
  CALL("cuDeviceGetAttribute", &multiprocessors, MULTIPROCESSOR_COUNT, device);
  say_what_is_visible(device, multiprocessors);
  CALL("cuModuleLoadData", &module, kernel_ptx);
  CALL("cuModuleGetFunction", &spin, module, "spin");
  uint64_t out = take(1), memory = mib > 1 ? take(mib - 1) : 0;
  printf("took %ld MiB, busy %d %%\n", mib, busy);
  uint32_t times = 100000;
  while (1) {
    if (released && memory) {
      CALL("cuMemFree_v2", memory);
      memory = take(KEPT_MIB - 1);
      released = 0;
      printf("freed all but %d MiB\n", KEPT_MIB);
    }
    int64_t start_ns = now_ns(), end_ns = start_ns + PERIOD_NS * busy / 100;
    while (now_ns() < end_ns) {
      int64_t one_ns = now_ns();
      void *arguments[] = {&out, &times};
      CALL("cuLaunchKernel", spin, multiprocessors, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
      CALL("cuCtxSynchronize");
      one_ns = now_ns() - one_ns;
      /* A few milliseconds each: short beside the period, long beside a launch. */
      if (one_ns < 2000000 && times < 100000000) times *= 2;
      if (one_ns > 8000000 && times > 1000) times /= 2;
    }
    sleep_ns(start_ns + PERIOD_NS - now_ns());
  }
}

/* As a driver would, by the limits that the container was given. */
static void simulate(long busy, long mib) {
  const char *limit = getenv("NVIDIA_GPU_MEMORY_LIMIT"), *threads = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (limit && mib > atol(limit)) fail(NO_MEMORY, mib);
  long multiprocessors = SIMULATED_MULTIPROCESSORS * (threads ? atol(threads) : 100) / 100;
  for (char node[] = "/dev/nvidia0"; node[11] <= '9'; node[11]++)
    if (access(node, F_OK) == 0) {
      printf("visible %s, simulated, %ld multiprocessors", node, multiprocessors);
      say_limits();
      printf("\n");
    }
  printf("took %ld MiB, busy %ld %%\n", mib, busy);
}

/* With memory, Mi or Gi follows the number. Returns it in MiB. */
static long number(const char *option, const char *text, int is_memory) {
  char *end = "";
  errno = 0;
  long value = text ? strtol(text, &end, 10) : -1;
  int is_number = text && end != text && !errno && value >= 0;
  if (is_memory && is_number && !strcmp(end, "Mi") && value < 1 << 24) return value;
  if (is_memory && is_number && !strcmp(end, "Gi") && value < 1 << 14) return value * 1024;
  if (is_memory || !is_number || *end || value > 100)
    fail("%s is \"%s\"; allowed are %s", option, text ? text : "", is_memory ? "2Gi or 512Mi" : "whole numbers from 0 to 100");
  return value;
}

int main(int count, char **arguments) {
  long busy = 0, mib = 1;
  int simulated = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < count; i++) {
    if (!strcmp(arguments[i], "--busy")) {
      busy = number("--busy", arguments[++i], 0);
    } else if (!strcmp(arguments[i], "--memory")) {
      mib = number("--memory", arguments[++i], 1);
    } else if (!strcmp(arguments[i], "--simulated")) {
      simulated = 1;
    } else if (!strcmp(arguments[i], "--release")) {
      if (kill(1, SIGUSR1)) fail("process 1 of this container cannot be told: %s", strerror(errno));
      return 0;
    } else {
      fail("\"%s\" is no option; there are --busy PERCENT, --memory AMOUNT, --simulated and --release", arguments[i]);
    }
  }
  signal(SIGUSR1, on_signal);
  /* Process 1 of a container ignores what it does not handle. */
  signal(SIGTERM, _exit);
  if (!simulated) work((int)busy, mib);
  simulate(busy, mib);
  while (1) {
    pause();
    if (released) {
      printf("freed all but %d MiB\n", KEPT_MIB);
      char percent[8], kept[8];
      snprintf(percent, sizeof percent, "%ld", busy);
      snprintf(kept, sizeof kept, "%dMi", KEPT_MIB);
      /* The simulated NVML goes by the options. */
      execl(arguments[0], arguments[0], "--simulated", "--busy", percent, "--memory", kept, (char *)NULL);
    }
  }
}
