/*
 * The functions of NVML that NVIDIA's plugin and Feature Discovery call and Tranche does not. They are for
 * LD_PRELOAD, since the simulated library has only the functions that Tranche calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

enum { SUCCESS = 0, NOT_FOUND = 6, UUID_MAX = 96, CUDA_VERSION = 13000 };

typedef void *device_t;

int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *device)
{
    int (*count)(unsigned *) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetCount_v2");
    int (*by_index)(unsigned, device_t *) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetHandleByIndex_v2");
    int (*uuid_of)(device_t, char *, unsigned) = dlsym(RTLD_DEFAULT, "nvmlDeviceGetUUID");
    unsigned gpus = 0;
    int result = count(&gpus);
    for (unsigned i = 0; result == SUCCESS && i < gpus; i++) {
        char text[UUID_MAX];
        result = by_index(i, device);
        if (result == SUCCESS && uuid_of(*device, text, sizeof text) == SUCCESS && strcmp(text, uuid) == 0)
            return SUCCESS;
    }
    return result == SUCCESS ? NOT_FOUND : result;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = CUDA_VERSION;
    return SUCCESS;
}
