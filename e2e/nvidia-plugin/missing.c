/*
 * The functions of NVML that NVIDIA's plugin, toolkit and Feature Discovery call and Tranche does not. They are for
 * LD_PRELOAD, since the simulated library has only the functions that Tranche calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

enum { SUCCESS = 0, NOT_FOUND = 6, UUID_MAX = 96, CUDA_VERSION = 13000 };

typedef void *device_t;

static int gpu(unsigned index, device_t *device)
{
    int (*by_index)(unsigned, device_t *) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetHandleByIndex_v2");
    int (*count)(unsigned *) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetCount_v2");
    unsigned gpus = 0;
    int result = count(&gpus);
    if (result != SUCCESS)
        return result;
    return index < gpus ? by_index(index, device) : NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *device)
{
    int (*uuid_of)(device_t, char *, unsigned) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetUUID");
    for (unsigned i = 0;; i++) {
        char text[UUID_MAX];
        int result = gpu(i, device);
        if (result != SUCCESS)
            return result;
        if (uuid_of(*device, text, sizeof text) == SUCCESS && strcmp(text, uuid) == 0)
            return SUCCESS;
    }
}

int nvmlDeviceGetIndex(device_t device, unsigned *index)
{
    for (*index = 0;; (*index)++) {
        device_t other;
        int result = gpu(*index, &other);
        if (result != SUCCESS || other == device)
            return result;
    }
}

/* MIG devices are not found by their uuids here. */
int nvmlDeviceIsMigDeviceHandle(device_t device, unsigned *is_mig)
{
    (void)device;
    *is_mig = 0;
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = CUDA_VERSION;
    return SUCCESS;
}
