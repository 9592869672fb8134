/*
 * The functions of NVML that Tranche calls, for simulated GPUs. Signatures, structs and return codes are those of
 * NVML's public interface, so that Tranche's binding works with it unchanged.
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NVML __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    TIMEOUT = 10,
    FUNCTION_NOT_FOUND = 13,
    GPU_IS_LOST = 15,
    OPERATING_SYSTEM = 17,
    ARGUMENT_VERSION_MISMATCH = 25,
};

enum { EXCLUSIVE_PROCESS = 3 };

enum { CGROUP_DEPTH_MAX = 32 };

enum { EVENT_SINGLE_BIT_ECC = 1, EVENT_DOUBLE_BIT_ECC = 2, EVENT_XID = 8 };

/* How often a hanging call checks whether it may continue. */
enum { HANG_STEP_MS = 20 };

/* NVML's own wait sleeps until there is an event. The simulated one must not wake a plugin much more often. */
enum { WAIT_STEP_MS = 250 };

typedef struct gpu *device_t;

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct addressing_mode {
    unsigned version, value;
};

struct utilization {
    unsigned gpu, memory;
};

struct process_info {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* The layout that the drivers 535.54 to 535.86 write for the same version of the function. */
struct process_info_535 {
    struct process_info head;
    unsigned long long protected_bytes;
};

struct attributes {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

struct process_sample {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
};

struct event_data {
    device_t device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct event_set {
    unsigned long long watched[GPUS_MAX];
    unsigned long long delivered[XIDS_MAX];
    int deliveries;
};

struct set_limits {
    const char *cgroup;
    unsigned long long soft, hard;
};

struct get_limits {
    const char *cgroup;
    unsigned long long soft, hard, used;
};

struct gpm_support {
    unsigned version, supported;
};

/* The counters of a device at a moment. A driver's sample is opaque, too. */
struct gpm_sample {
    int filled;
    int gpu;
    int stalled;
    unsigned long long time_ms;
    double percent[GPM_METRICS];
};

struct gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *short_name, *long_name, *unit;
};

struct gpm_metrics {
    unsigned version, count;
    struct gpm_sample *earlier, *later;
    struct gpm_metric metric[];
};

_Static_assert(sizeof(struct set_limits) == 24, "nvmlSetMemoryLimits_v1_t");
_Static_assert(sizeof(struct get_limits) == 32, "nvmlGetMemoryLimits_v1_t");
_Static_assert(sizeof(struct gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(struct gpm_metrics) == 24, "nvmlGpmMetricsGet_t up to its metrics");
_Static_assert(sizeof(struct memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct pci_info) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct process_info) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct process_info_535) == 32, "nvmlProcessInfo_t of 535.54");
_Static_assert(sizeof(struct attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct process_sample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct event_data) == 32, "nvmlEventData_t");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct state state;
static int initialized;

static int is_mig(device_t device)
{
    return device >= state.mig && device < state.mig + MIGS_MAX;
}

static const struct answer *answer_of(const char *function, int gpu)
{
    for (int i = 0; i < state.answers; i++) {
        const struct answer *answer = &state.answer[i];
        if (strcmp(answer->function, function) == 0 && (answer->gpu < 0 || answer->gpu == gpu))
            return answer;
    }
    return NULL;
}

/* The result that an answer line sets for this function: a return code, or a hang for as long as the line exists. */
static int told(const char *function, int gpu)
{
    const struct answer *answer;
    while ((answer = answer_of(function, gpu)) != NULL && answer->hang) {
        struct timespec step = {0, HANG_STEP_MS * 1000000L};
        pthread_mutex_unlock(&lock);
        nanosleep(&step, NULL);
        pthread_mutex_lock(&lock);
        state_refresh(&state);
    }
    return answer == NULL ? SUCCESS : answer->code;
}

/*
 * A handle is the address of the GPU or MIG device in the state. It stays the same when the file is read again.
 */
static int enter_as(const char *function, device_t device)
{
    pthread_mutex_lock(&lock);
    if (!initialized)
        return UNINITIALIZED;
    state_refresh(&state);
    int answer = told(function, device == NULL ? -1 : is_mig(device) ? device->parent : device->index);
    if (answer != SUCCESS)
        return answer;
    if (device == NULL)
        return SUCCESS;
    if (is_mig(device))
        return device - state.mig >= state.migs || state.gpu[device->parent].lost ? GPU_IS_LOST : SUCCESS;
    if (device < state.gpu || device >= state.gpu + GPUS_MAX)
        return INVALID_ARGUMENT;
    return device->lost || device - state.gpu >= state.gpus ? GPU_IS_LOST : SUCCESS;
}

#define enter(device) enter_as(__func__, device)

static int leave(int result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

static int copy(char *to, unsigned length, const char *text)
{
    if (length <= strlen(text))
        return INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return SUCCESS;
}

/* A node that may be opened, but has no driver behind it, answers ENXIO. */
static int reaches_driver(void)
{
    int file = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
    if (file >= 0)
        close(file);
    return file >= 0 || errno == ENXIO;
}

NVML int nvmlInit_v2(void)
{
    pthread_mutex_lock(&lock);
    if (state_refresh(&state) != 0 || (state.nodes && !reaches_driver()))
        return leave(DRIVER_NOT_LOADED);
    int answer = told(__func__, -1);
    if (answer != SUCCESS)
        return leave(answer);
    initialized++;
    return leave(SUCCESS);
}

NVML int nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    if (!initialized)
        return leave(UNINITIALIZED);
    initialized--;
    return leave(SUCCESS);
}

NVML const char *nvmlErrorString(int result)
{
    switch (result) {
    case SUCCESS: return "The operation was successful";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMEOUT: return "Timeout";
    case FUNCTION_NOT_FOUND: return "Function Not Found";
    case GPU_IS_LOST: return "GPU is lost";
    case OPERATING_SYSTEM: return "Operating system error";
    case ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

NVML int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    int result = enter(NULL);
    return leave(result != SUCCESS ? result : copy(version, length, state.driver));
}

NVML int nvmlDeviceGetCount_v2(unsigned *count)
{
    int result = enter(NULL);
    if (result == SUCCESS)
        *count = (unsigned)state.gpus;
    return leave(result);
}

NVML int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *device)
{
    int result = enter(NULL);
    if (result != SUCCESS)
        return leave(result);
    if (index >= (unsigned)state.gpus)
        return leave(INVALID_ARGUMENT);
    result = told(__func__, (int)index);
    if (result != SUCCESS)
        return leave(result);
    *device = &state.gpu[index];
    return leave(state.gpu[index].lost ? GPU_IS_LOST : SUCCESS);
}

NVML int nvmlDeviceGetUUID(device_t device, char *uuid, unsigned length)
{
    int result = enter(device);
    return leave(result != SUCCESS ? result : copy(uuid, length, device->uuid));
}

NVML int nvmlDeviceGetName(device_t device, char *name, unsigned length)
{
    int result = enter(device);
    return leave(result != SUCCESS ? result : copy(name, length, device->model));
}

NVML int nvmlDeviceGetMinorNumber(device_t device, unsigned *minor)
{
    int result = enter(device);
    if (result == SUCCESS)
        *minor = device->minor;
    return leave(result);
}

static void tell_pci(struct pci_info *pci, const struct gpu *gpu)
{
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "%s", gpu->pci);
    sscanf(gpu->pci, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%04X:%02X:%02X.0", pci->domain & 0xffff,
             pci->bus & 0xff, pci->device & 0xff);
}

NVML int nvmlDeviceGetCudaComputeCapability(device_t device, int *major, int *minor)
{
    int result = enter(device);
    if (result == SUCCESS) {
        *major = (int)device->cc_major;
        *minor = (int)device->cc_minor;
    }
    return leave(result);
}

/* The mode that was set is in a file beside the state, since another process may read it. */
NVML int nvmlDeviceGetComputeMode(device_t device, unsigned *mode)
{
    int result = enter(device);
    if (result == SUCCESS)
        *mode = state_compute_mode(device->index);
    return leave(result);
}

NVML int nvmlDeviceSetComputeMode(device_t device, unsigned mode)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (mode > EXCLUSIVE_PROCESS)
        return leave(INVALID_ARGUMENT);
    return leave(state_set_compute_mode(device->index, mode) == 0 ? SUCCESS : NO_PERMISSION);
}

NVML int nvmlDeviceGetPciInfo_v3(device_t device, struct pci_info *pci)
{
    int result = enter(device);
    if (result == SUCCESS)
        tell_pci(pci, device);
    return leave(result);
}

enum { CAP_SYS_ADMIN = 21 };

static int has_sys_admin(void)
{
    char line[256];
    unsigned long long effective = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "CapEff: %llx", &effective) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return effective >> CAP_SYS_ADMIN & 1;
}

static int privileged(void)
{
    return state.privileges == EVERYBODY || (state.privileges == SYS_ADMIN_ONLY && has_sys_admin());
}

/* What sums up the MIG devices of a GPU is for privileged callers; each device tells its own. */
static int enter_sum(const char *function, device_t device)
{
    int result = enter_as(function, device);
    return result == SUCCESS && !is_mig(device) && device->mig > 0 && !privileged() ? NO_PERMISSION : result;
}

NVML int nvmlDeviceGetMemoryInfo(device_t device, struct memory *memory)
{
    int result = enter_sum(__func__, device);
    if (result != SUCCESS)
        return leave(result);
    /* The first version counts the driver's reserve as used. */
    memory->total = device->memory_mib << 20;
    memory->used = (device->used_mib + device->reserved_mib) << 20;
    memory->free = memory->total - memory->used;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetMemoryInfo_v2(device_t device, struct memory_v2 *memory)
{
    int result = enter_sum(__func__, device);
    if (result != SUCCESS)
        return leave(result);
    if (memory->version != (sizeof *memory | 2u << 24))
        return leave(ARGUMENT_VERSION_MISMATCH);
    memory->total = (device->v2_total_mib ? device->v2_total_mib : device->memory_mib) << 20;
    memory->reserved = device->reserved_mib << 20;
    memory->used = device->used_mib << 20;
    memory->free = memory->total - memory->reserved - memory->used;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetAddressingMode(device_t device, struct addressing_mode *mode)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (mode->version != (sizeof *mode | 1u << 24))
        return leave(ARGUMENT_VERSION_MISMATCH);
    mode->value = device->addressing;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetUtilizationRates(device_t device, struct utilization *utilization)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    /* Like NVML, which has no utilization of a MIG device, nor of a GPU in MIG mode. */
    if (is_mig(device) || device->mig > 0)
        return leave(NOT_SUPPORTED);
    utilization->gpu = device->sm < 100 ? device->sm : 100;
    utilization->memory = device->memory_util;
    return leave(SUCCESS);
}

/* Says whether the device has GPM at all; its samples may fail all the same, as those of a fractional vGPU do. */
NVML int nvmlGpmQueryDeviceSupport(device_t device, struct gpm_support *support)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (support->version != 1)
        return leave(ARGUMENT_VERSION_MISMATCH);
    support->supported = (unsigned)device->gpm;
    return leave(SUCCESS);
}

NVML int nvmlGpmSampleAlloc(struct gpm_sample **sample)
{
    int result = enter(NULL);
    if (result != SUCCESS)
        return leave(result);
    *sample = calloc(1, sizeof **sample);
    return leave(*sample == NULL ? 20 : SUCCESS);
}

NVML int nvmlGpmSampleFree(struct gpm_sample *sample)
{
    int result = enter(NULL);
    free(sample);
    return leave(result);
}

NVML int nvmlGpmSampleGet(device_t device, struct gpm_sample *sample)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (sample == NULL)
        return leave(INVALID_ARGUMENT);
    if (!device->gpm)
        return leave(NOT_SUPPORTED);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sample->filled = 1;
    sample->gpu = is_mig(device) ? device->parent : device->index;
    sample->stalled = device->gpm_stall;
    sample->time_ms = (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
    memcpy(sample->percent, device->gpm_percent, sizeof sample->percent);
    return leave(SUCCESS);
}

/* How far apart two samples of an H100 must be. */
enum { GPM_APART_MS = 90 };

static int gpm_index(unsigned id)
{
    static const unsigned IDS[GPM_METRICS] = {1, 2, 3, 5, 10};
    for (int i = 0; i < GPM_METRICS; i++)
        if (IDS[i] == id)
            return i;
    return -1;
}

/*
 * The values of the later sample. As of an H100 with driver 580, samples without time between them have SM utilization
 * 0.0 and a DRAM bandwidth that is no number, both as a success.
 */
static void gpm_answer(struct gpm_metric *metric, const struct gpm_sample *later, int apart)
{
    int index = gpm_index(metric->id);
    metric->result = index < 0 ? INVALID_ARGUMENT : SUCCESS;
    if (index >= 0)
        metric->value = apart ? later->percent[index] : index == GPM_DRAM ? 0.0 / 0.0 : 0.0;
}

NVML int nvmlGpmMetricsGet(struct gpm_metrics *metrics)
{
    int result = enter(NULL);
    if (result != SUCCESS)
        return leave(result);
    const struct gpm_sample *earlier = metrics->earlier, *later = metrics->later;
    if (metrics->version != 1)
        return leave(ARGUMENT_VERSION_MISMATCH);
    if (earlier == NULL || later == NULL || earlier == later || !earlier->filled || !later->filled)
        return leave(INVALID_ARGUMENT);
    result = told(__func__, later->gpu);
    if (result != SUCCESS)
        return leave(result);
    int apart = !later->stalled && later->time_ms >= earlier->time_ms + GPM_APART_MS;
    for (unsigned i = 0; i < metrics->count; i++)
        gpm_answer(&metrics->metric[i], later, apart);
    return leave(SUCCESS);
}

static int process_is_on(const struct process *process, device_t device)
{
    if (is_mig(device))
        return process->gpu == device->parent && process->mig == device->index;
    return process->gpu == device->index;
}

/* A cgroup and those above it, the lowest first. */
struct cgroups {
    int count;
    struct cgroup cgroup[CGROUP_DEPTH_MAX];
};

static int same_cgroup(const struct cgroup *one, const struct cgroup *other)
{
    return one->device == other->device && one->inode == other->inode;
}

/* Opens the path as the caller sees it. Returns -1 if it is no folder. */
static int cgroups_above(const char *path, struct cgroups *found)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    found->count = 0;
    while (folder >= 0 && found->count < CGROUP_DEPTH_MAX) {
        struct stat now;
        if (fstat(folder, &now) != 0)
            break;
        struct cgroup cgroup = {now.st_dev, now.st_ino};
        /* The root is its own parent, and the parent of a mount is another file system's. */
        if (found->count > 0 && (same_cgroup(&cgroup, &found->cgroup[found->count - 1]) ||
                                 cgroup.device != found->cgroup[0].device))
            break;
        found->cgroup[found->count++] = cgroup;
        int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = parent;
    }
    if (folder >= 0)
        close(folder);
    return found->count > 0 ? 0 : -1;
}

static int is_below(const struct process *process, const struct cgroup *cgroup)
{
    struct cgroups own;
    if (process->cgroup[0] == '\0' || cgroups_above(process->cgroup, &own) != 0)
        return 0;
    for (int i = 0; i < own.count; i++)
        if (same_cgroup(&own.cgroup[i], cgroup))
            return 1;
    return 0;
}

/* Managed memory escapes every limit, and misc counts only what is allocated once there is a limit. */
static int is_counted(const struct process *process)
{
    return !process->managed && !(state.limits == LIMITS_MISC && process->early);
}

static unsigned long long allocated_mib(const struct process *process);

/* What the processes below the cgroup have, up to this one of the state's. */
static unsigned long long counted_mib(int gpu, const struct cgroup *cgroup, const struct process *end)
{
    unsigned long long sum = 0;
    for (const struct process *process = state.process; process < end; process++)
        if (process->gpu == gpu && is_counted(process) && is_below(process, cgroup))
            sum += allocated_mib(process);
    return sum;
}

/* What the process got of what it wants: an allocation beyond a hard limit fails, and the process lives. */
static unsigned long long allocated_mib(const struct process *process)
{
    struct cgroups own;
    unsigned long long got = process->used_mib;
    if (process->cgroup[0] == '\0' || !is_counted(process) || cgroups_above(process->cgroup, &own) != 0)
        return got;
    for (int i = 0; i < own.count; i++) {
        struct limit limit;
        if (state_limit(process->gpu, &own.cgroup[i], &limit) != 0)
            continue;
        unsigned long long before = counted_mib(process->gpu, &own.cgroup[i], process), hard = limit.hard >> 20;
        unsigned long long left = hard > before ? hard - before : 0;
        /* dmem counts also what was allocated before, and takes nothing of it away. */
        if (got > left && !process->early)
            got = left;
    }
    return got;
}

/* Memory limits are for whole GPUs with memory of their own. */
static int enter_limits(const char *function, device_t device, const char *path, struct cgroups *cgroups)
{
    int result = enter_as(function, device);
    if (result != SUCCESS)
        return result;
    if (state.limits == LIMITS_UNKNOWN)
        return FUNCTION_NOT_FOUND;
    if (state.limits == LIMITS_NONE || is_mig(device) || device->mig > 0 || device->addressing == 2)
        return NOT_SUPPORTED;
    return path == NULL ? INVALID_ARGUMENT : cgroups_above(path, cgroups) == 0 ? SUCCESS : OPERATING_SYSTEM;
}

NVML int nvmlDeviceSetMemoryLimits_v1(device_t device, struct set_limits *limits)
{
    struct cgroups cgroups;
    int result = enter_limits(__func__, device, limits->cgroup, &cgroups);
    if (result != SUCCESS)
        return leave(result);
    if (!privileged())
        return leave(NO_PERMISSION);
    struct limit limit = {limits->soft, limits->hard};
    int none = limit.hard == ~0ull;
    if (limit.soft > limit.hard || (!none && limit.hard > device->memory_mib << 20))
        return leave(INVALID_ARGUMENT);
    /* dmem takes a limit below the use, without effect on it. */
    if (state.limits == LIMITS_MISC && !none &&
        counted_mib(device->index, &cgroups.cgroup[0], state.process + state.processes) << 20 > limit.hard)
        return leave(INVALID_ARGUMENT);
    if (state.limits == LIMITS_HALF && !none)
        limit.hard /= 2;
    int kept = state_set_limit(device->index, &cgroups.cgroup[0], none && limit.soft == 0 ? NULL : &limit);
    return leave(kept == 0 ? SUCCESS : OPERATING_SYSTEM);
}

NVML int nvmlDeviceGetMemoryLimits_v1(device_t device, struct get_limits *limits)
{
    struct cgroups cgroups;
    int result = enter_limits(__func__, device, limits->cgroup, &cgroups);
    if (result != SUCCESS)
        return leave(result);
    struct limit limit = {0, ~0ull};
    int at = 0;
    int found = state_limit(device->index, &cgroups.cgroup[0], &limit) == 0;
    /* With misc, a cgroup without a limit answers with the nearest one above that has one. */
    while (!found && state.limits == LIMITS_MISC && ++at < cgroups.count)
        found = state_limit(device->index, &cgroups.cgroup[at], &limit) == 0;
    if (!found && state.limits == LIMITS_MISC)
        return leave(NOT_SUPPORTED);
    limits->soft = limit.soft;
    limits->hard = limit.hard;
    limits->used = counted_mib(device->index, &cgroups.cgroup[found ? at : 0], state.process + state.processes) << 20;
    return leave(SUCCESS);
}

static int running(const char *function, device_t device, unsigned *count, void *infos, int list)
{
    int result = enter_sum(function, device);
    if (result != SUCCESS)
        return leave(result);
    unsigned room = *count, found = 0;
    for (int i = 0; i < state.processes; i++) {
        if (!process_is_on(&state.process[i], device) || (int)state.process[i].list != list)
            continue;
        if (found < room && infos != NULL) {
            struct process_info_535 info = {{state.process[i].pid, allocated_mib(&state.process[i]) << 20, ~0u, ~0u}, 0};
            memcpy((char *)infos + (size_t)found * state.process_bytes, &info, state.process_bytes);
        }
        found++;
    }
    *count = found;
    return leave(found > room ? INSUFFICIENT_SIZE : SUCCESS);
}

NVML int nvmlDeviceGetMigMode(device_t device, unsigned *current, unsigned *pending)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (is_mig(device) || device->mig < 0)
        return leave(NOT_SUPPORTED);
    *current = *pending = (unsigned)device->mig;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetMaxMigDeviceCount(device_t device, unsigned *count)
{
    int result = enter(device);
    if (result == SUCCESS)
        *count = device->mig < 0 ? 0 : 7;
    return leave(result);
}

NVML int nvmlDeviceGetMigDeviceHandleByIndex(device_t device, unsigned index, device_t *mig)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    for (int i = 0; i < state.migs; i++)
        if (state.mig[i].parent == device->index && state.mig[i].index == (int)index) {
            *mig = &state.mig[i];
            return leave(SUCCESS);
        }
    return leave(NOT_FOUND);
}

NVML int nvmlDeviceGetGpuInstanceId(device_t device, unsigned *id)
{
    int result = enter(device);
    if (result == SUCCESS && !is_mig(device))
        return leave(NOT_SUPPORTED);
    if (result == SUCCESS)
        *id = device->gi;
    return leave(result);
}

NVML int nvmlDeviceGetComputeInstanceId(device_t device, unsigned *id)
{
    int result = enter(device);
    if (result == SUCCESS && !is_mig(device))
        return leave(NOT_SUPPORTED);
    if (result == SUCCESS)
        *id = device->ci;
    return leave(result);
}

NVML int nvmlDeviceGetAttributes_v2(device_t device, struct attributes *attributes)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    memset(attributes, 0, sizeof *attributes);
    attributes->gpu_slices = device->gi_slices;
    attributes->compute_slices = device->ci_slices;
    attributes->memory_mib = device->memory_mib;
    return leave(is_mig(device) ? SUCCESS : NOT_SUPPORTED);
}

NVML int nvmlDeviceGetTopologyCommonAncestor(device_t device, device_t other, int *level)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (device->pcie_switch >= 0 && device->pcie_switch == other->pcie_switch)
        *level = 10;
    else
        *level = device->node == other->node ? 40 : 50;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetNvLinkState(device_t device, unsigned link, unsigned *active)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (link >= LINKS_MAX)
        return leave(INVALID_ARGUMENT);
    if (device->nvlink[0] < 0)
        return leave(NOT_SUPPORTED);
    *active = device->nvlink[link] >= 0;
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetNvLinkRemotePciInfo_v2(device_t device, unsigned link, struct pci_info *pci)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (link >= LINKS_MAX || device->nvlink[link] < 0 || device->nvlink[link] >= state.gpus)
        return leave(INVALID_ARGUMENT);
    tell_pci(pci, &state.gpu[device->nvlink[link]]);
    return leave(SUCCESS);
}

NVML int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned *count, struct process_info *infos)
{
    return running(__func__, device, count, infos, COMPUTE);
}

NVML int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t device, unsigned *count, struct process_info *infos)
{
    return running(__func__, device, count, infos, GRAPHICS);
}

/* Clients of an MPS server. */
NVML int nvmlDeviceGetMPSComputeRunningProcesses_v3(device_t device, unsigned *count, struct process_info *infos)
{
    return running(__func__, device, count, infos, MPS);
}

/* One sample per process, with the current time. */
NVML int nvmlDeviceGetProcessUtilization(device_t device, struct process_sample *samples, unsigned *count,
                                         unsigned long long since_us)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long now_us = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
    unsigned room = *count, found = 0;
    for (int i = 0; i < state.processes && now_us > since_us; i++) {
        if (state.process[i].gpu != device->index)
            continue;
        if (found < room && samples != NULL) {
            struct process_sample sample = {state.process[i].pid, now_us, state.process[i].sm, 0, 0, 0};
            samples[found] = sample;
        }
        found++;
    }
    *count = found;
    return leave(found == 0 ? NOT_FOUND : found > room ? INSUFFICIENT_SIZE : SUCCESS);
}

static int sensor(device_t device, long long value)
{
    return leave(device == NULL || value < 0 ? NOT_SUPPORTED : SUCCESS);
}

NVML int nvmlDeviceGetTemperature(device_t device, int which, unsigned *celsius)
{
    int result = enter(device);
    if (result != SUCCESS || which != 0)
        return leave(result != SUCCESS ? result : INVALID_ARGUMENT);
    *celsius = (unsigned)device->temperature_c;
    return sensor(device, device->temperature_c);
}

NVML int nvmlDeviceGetPowerUsage(device_t device, unsigned *milliwatts)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    *milliwatts = (unsigned)device->power_mw;
    return sensor(device, device->power_mw);
}

NVML int nvmlDeviceGetCurrentClocksThrottleReasons(device_t device, unsigned long long *reasons)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    *reasons = (unsigned long long)device->throttle;
    return sensor(device, device->throttle);
}

/* The simulation has one number of uncorrected errors, which it returns for every counter. */
NVML int nvmlDeviceGetTotalEccErrors(device_t device, int type, int counter, unsigned long long *count)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (type != 1 || counter < 0)
        return leave(INVALID_ARGUMENT);
    *count = (unsigned long long)device->ecc_uncorrected;
    return sensor(device, device->ecc_uncorrected);
}

NVML int nvmlEventSetFree(struct event_set *set)
{
    int result = enter(NULL);
    free(set);
    return leave(result);
}

NVML int nvmlDeviceGetSupportedEventTypes(device_t device, unsigned long long *types)
{
    int result = enter(device);
    if (result == SUCCESS)
        *types = EVENT_SINGLE_BIT_ECC | EVENT_DOUBLE_BIT_ECC | EVENT_XID;
    return leave(result);
}

NVML int nvmlDeviceRegisterEvents(device_t device, unsigned long long types, struct event_set *set)
{
    int result = enter(device);
    if (result != SUCCESS)
        return leave(result);
    if (types & ~(unsigned long long)(EVENT_SINGLE_BIT_ECC | EVENT_DOUBLE_BIT_ECC | EVENT_XID))
        return leave(NOT_SUPPORTED);
    set->watched[device - state.gpu] |= types;
    return leave(SUCCESS);
}

/* Identity of one event: each event set gets the event of an xid line once. */
static unsigned long long happening(const struct xid *xid)
{
    return xid->seq << 24 | (unsigned long long)xid->gpu << 16 | xid->code;
}

NVML int nvmlEventSetCreate(struct event_set **set)
{
    int result = enter(NULL);
    if (result != SUCCESS)
        return leave(result);
    *set = calloc(1, sizeof **set);
    /* Events from before the set was created are not delivered. */
    for (int i = 0; *set != NULL && i < state.xids; i++)
        (*set)->delivered[(*set)->deliveries++] = happening(&state.xid[i]);
    return leave(*set == NULL ? 999 : SUCCESS);
}

static int delivered(const struct event_set *set, unsigned long long id)
{
    for (int i = 0; i < set->deliveries; i++)
        if (set->delivered[i] == id)
            return 1;
    return 0;
}

static int next_event(struct event_set *set, struct event_data *data)
{
    for (int i = 0; i < state.xids; i++) {
        const struct xid *xid = &state.xid[i];
        unsigned long long type = xid->code == 0 ? EVENT_DOUBLE_BIT_ECC : EVENT_XID;
        if (xid->gpu >= state.gpus || !(set->watched[xid->gpu] & type) || delivered(set, happening(xid)))
            continue;
        /* Events of single instances are for privileged callers. */
        if (xid->gpu_instance != ~0u && !privileged())
            continue;
        if (set->deliveries == XIDS_MAX)
            return 0;
        set->delivered[set->deliveries++] = happening(xid);
        struct event_data event = {&state.gpu[xid->gpu], type, xid->code, xid->gpu_instance, xid->compute_instance};
        *data = event;
        return 1;
    }
    return 0;
}

/* A GPU that has fallen off the bus, or gives no handle for the same reason. */
static int is_lost(int gpu)
{
    const struct answer *answer = answer_of("nvmlDeviceGetHandleByIndex_v2", gpu);
    return gpu >= state.gpus || state.gpu[gpu].lost || (answer != NULL && answer->code == GPU_IS_LOST);
}

/* As in a driver, one lost GPU ends the waits of its whole set, once the events from before are delivered. */
static int has_lost_gpu(const struct event_set *set)
{
    for (int gpu = 0; gpu < GPUS_MAX; gpu++)
        if (set->watched[gpu] != 0 && is_lost(gpu))
            return 1;
    return 0;
}

NVML int nvmlEventSetWait_v2(struct event_set *set, struct event_data *data, unsigned timeout_ms)
{
    unsigned waited_ms = 0;
    for (;;) {
        int result = enter(NULL);
        if (result != SUCCESS)
            return leave(result);
        int found = next_event(set, data);
        int lost = !found && has_lost_gpu(set);
        leave(SUCCESS);
        if (found)
            return SUCCESS;
        if (lost)
            return GPU_IS_LOST;
        if (waited_ms >= timeout_ms)
            return TIMEOUT;
        unsigned step_ms = timeout_ms - waited_ms < WAIT_STEP_MS ? timeout_ms - waited_ms : WAIT_STEP_MS;
        struct timespec step = {0, (long)step_ms * 1000000};
        nanosleep(&step, NULL);
        waited_ms += step_ms;
    }
}
