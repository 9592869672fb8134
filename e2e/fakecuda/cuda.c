/* Simulated libcuda of one GPU: the functions that ./verify-gpu calls. Under MPS it keeps to the client's limits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define OUT_OF_MEMORY 2
#define MULTIPROCESSORS 40
#define TOTAL_BYTES ((size_t)15360 << 20)
#define CONTEXT_BYTES ((size_t)256 << 20)

static const unsigned char uuid[16] = {0x1a, 0x2b, 0x3c, 0x4d, 0, 0, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55};

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  const char *answer = getenv("TRANCHE_FAKECUDA_INIT");
  return answer ? atoi(answer) : 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}

EXPORT int cuDeviceGetUuid_v2(void *out, int device) {
  (void)device;
  memcpy(out, uuid, sizeof uuid);
  return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  *context = (void *)uuid;
  return 0;
}

EXPORT int cuCtxSetCurrent(void *context) {
  (void)context;
  return 0;
}

static const char *limit(const char *variable) {
  return getenv("TRANCHE_FAKECUDA_UNLIMITED") ? NULL : getenv(variable);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)attribute;
  (void)device;
  const char *percent = limit("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  *value = percent ? MULTIPROCESSORS * atoi(percent) / 100 : MULTIPROCESSORS;
  return 0;
}

static size_t limit_bytes(void) {
  const char *limits = limit("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
  const char *mib = limits ? strchr(limits, '=') : NULL;
  return mib ? (size_t)atoll(mib + 1) << 20 : TOTAL_BYTES;
}

/* The limit is not in the total, as with driver 580. */
EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = limit_bytes() - CONTEXT_BYTES;
  *total = TOTAL_BYTES;
  return 0;
}

EXPORT int cuMemAlloc_v2(void **memory, size_t bytes) {
  if (bytes > limit_bytes() - CONTEXT_BYTES) {
    return OUT_OF_MEMORY;
  }
  *memory = (void *)uuid;
  return 0;
}

EXPORT int cuMemFree_v2(void *memory) {
  (void)memory;
  return 0;
}
