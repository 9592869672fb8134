#include "state.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char PATH_VARIABLE[] = "TRANCHE_FAKENVML_STATE";
static const char MODES_VARIABLE[] = "TRANCHE_FAKENVML_COMPUTE_MODES";
static const char FILE_NAME[] = "gpus.state";

static struct stat seen;
static int seen_result = -1;

/* The path beside the library itself, since the file there describes this node. */
static int path_beside_us(char *path, size_t size)
{
    Dl_info self;
    if (dladdr(&seen, &self) == 0)
        return -1;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - self.dli_fname + 1);
    if (snprintf(path, size, "%.*s%s", folder, self.dli_fname, FILE_NAME) < (int)size)
        return 0;
    path[0] = '\0';
    return -1;
}

/* NULL if there is no such path. Found only once: every NVML call needs it, and must not cost more than a real one. */
static const char *state_path(void)
{
    static char path[4096];
    if (path[0] != '\0')
        return path;
    const char *given = getenv(PATH_VARIABLE);
    if (given == NULL || given[0] == '\0')
        return path_beside_us(path, sizeof path) == 0 ? path : NULL;
    if (strlen(given) >= sizeof path)
        return NULL;
    return strcpy(path, given);
}

/* Takes the next key=value off *line; a value may be in double quotes. Returns 0 at the end, -1 if malformed. */
static int next_pair(char **line, char **key, char **value)
{
    char *at = *line;
    while (*at == ' ' || *at == '\t')
        at++;
    if (*at == '\0')
        return 0;
    *key = at;
    char *equals = strchr(at, '=');
    if (equals == NULL)
        return -1;
    *equals = '\0';
    at = equals + 1;
    char stop = ' ';
    if (*at == '"') {
        stop = '"';
        at++;
    }
    *value = at;
    while (*at != '\0' && *at != stop)
        at++;
    if (stop == '"' && *at != '"')
        return -1;
    if (*at != '\0')
        *at++ = '\0';
    *line = at;
    return 1;
}

static void gpu_defaults(struct gpu *gpu)
{
    memset(gpu, 0, sizeof *gpu);
    gpu->index = -1;
    gpu->minor = ~0u;
    gpu->cc_major = 7;
    gpu->cc_minor = 5;
    gpu->mig = -1;
    for (int i = 0; i < LINKS_MAX; i++)
        gpu->nvlink[i] = -1;
    gpu->pcie_switch = -1;
    gpu->parent = -1;
    gpu->temperature_c = gpu->power_mw = gpu->throttle = gpu->ecc_uncorrected = -1;
    snprintf(gpu->model, sizeof gpu->model, "Tesla T4");
}

/* "1,1,2": two links to GPU 1 and one to GPU 2. */
static void set_nvlinks(struct gpu *gpu, const char *list)
{
    for (int i = 0; i < LINKS_MAX && *list != '\0'; i++) {
        char *end;
        gpu->nvlink[i] = (int)strtol(list, &end, 10);
        list = *end == ',' ? end + 1 : end;
    }
}

static const char *const GPM_KEYS[GPM_METRICS] = {"gpm_graphics", "gpm_sm", "gpm_occupancy", "gpm_tensor", "gpm_dram"};

static void gpm_set(struct gpu *gpu, const char *key, const char *value)
{
    if (strcmp(key, "gpm") == 0)
        gpu->gpm = atoi(value) != 0;
    else if (strcmp(key, "gpm_stall") == 0)
        gpu->gpm_stall = atoi(value) != 0;
    for (int i = 0; i < GPM_METRICS; i++)
        if (strcmp(key, GPM_KEYS[i]) == 0)
            gpu->gpm_percent[i] = strtod(value, NULL);
}

static void gpu_set(struct gpu *gpu, const char *key, const char *value)
{
    unsigned long long number = strtoull(value, NULL, 10);
    if (strcmp(key, "index") == 0)
        gpu->index = (int)number;
    else if (strcmp(key, "uuid") == 0)
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", value);
    else if (strcmp(key, "model") == 0)
        snprintf(gpu->model, sizeof gpu->model, "%s", value);
    else if (strcmp(key, "pci") == 0)
        snprintf(gpu->pci, sizeof gpu->pci, "%s", value);
    else if (strcmp(key, "memory_mib") == 0)
        gpu->memory_mib = number;
    else if (strcmp(key, "reserved_mib") == 0)
        gpu->reserved_mib = number;
    else if (strcmp(key, "used_mib") == 0)
        gpu->used_mib = number;
    else if (strcmp(key, "v2_total_mib") == 0)
        gpu->v2_total_mib = number;
    else if (strcmp(key, "sm") == 0)
        gpu->sm = (unsigned)number;
    else if (strcmp(key, "memory_util") == 0)
        gpu->memory_util = (unsigned)number;
    else if (strcmp(key, "minor") == 0)
        gpu->minor = (unsigned)number;
    else if (strcmp(key, "lost") == 0)
        gpu->lost = number != 0;
    else if (strcmp(key, "mig") == 0)
        gpu->mig = number != 0;
    else if (strcmp(key, "nvlink") == 0)
        set_nvlinks(gpu, value);
    else if (strcmp(key, "switch") == 0)
        gpu->pcie_switch = (int)number;
    else if (strcmp(key, "node") == 0)
        gpu->node = (int)number;
    else if (strcmp(key, "temperature_c") == 0)
        gpu->temperature_c = (long long)number;
    else if (strcmp(key, "power_mw") == 0)
        gpu->power_mw = (long long)number;
    else if (strcmp(key, "throttle") == 0)
        gpu->throttle = strtoll(value, NULL, 0);
    else if (strcmp(key, "ecc_uncorrected") == 0)
        gpu->ecc_uncorrected = (long long)number;
    else if (strcmp(key, "addressing") == 0)
        gpu->addressing = strcmp(value, "ats") == 0 ? 2 : strcmp(value, "hmm") == 0;
    else if (strcmp(key, "cc") == 0)
        sscanf(value, "%u.%u", &gpu->cc_major, &gpu->cc_minor);
    else
        gpm_set(gpu, key, value);
}

static int gpu_line(struct state *state, char *line)
{
    struct gpu gpu;
    char *key, *value;
    int more;
    gpu_defaults(&gpu);
    while ((more = next_pair(&line, &key, &value)) > 0)
        gpu_set(&gpu, key, value);
    if (more < 0 || gpu.index != state->gpus || gpu.index >= GPUS_MAX || gpu.uuid[0] == '\0' || gpu.memory_mib == 0)
        return -1;
    if (gpu.minor == ~0u)
        gpu.minor = (unsigned)gpu.index;
    if (gpu.pci[0] == '\0')
        snprintf(gpu.pci, sizeof gpu.pci, "00000000:%02X:00.0", (unsigned)gpu.index + 1);
    state->gpu[state->gpus++] = gpu;
    return 0;
}

static void mig_set(struct gpu *mig, const char *key, const char *value)
{
    if (strcmp(key, "gpu") == 0)
        mig->parent = atoi(value);
    else if (strcmp(key, "gi") == 0)
        mig->gi = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(key, "ci") == 0)
        mig->ci = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(key, "profile") == 0)
        snprintf(mig->model, sizeof mig->model, "%s", value);
    else
        gpu_set(mig, key, value);
}

/* A profile starts with the slices: 1g.5gb, or 1c.2g.10gb for one compute slice of two. */
static int mig_slices(struct gpu *mig)
{
    if (sscanf(mig->model, "%uc.%ug.", &mig->ci_slices, &mig->gi_slices) == 2)
        return 0;
    if (sscanf(mig->model, "%ug.", &mig->gi_slices) != 1)
        return -1;
    mig->ci_slices = mig->gi_slices;
    return 0;
}

static int mig_line(struct state *state, char *line)
{
    struct gpu mig;
    char *key, *value, profile[TEXT_MAX];
    int more;
    gpu_defaults(&mig);
    mig.model[0] = '\0';
    while ((more = next_pair(&line, &key, &value)) > 0)
        mig_set(&mig, key, value);
    if (more < 0 || mig.parent < 0 || mig.parent >= state->gpus || state->migs == MIGS_MAX || mig.index < 0 ||
        mig.uuid[0] == '\0' || mig.memory_mib == 0 || mig_slices(&mig) != 0)
        return -1;
    memcpy(profile, mig.model, sizeof profile);
    if (snprintf(mig.model, sizeof mig.model, "%.60s MIG %.30s", state->gpu[mig.parent].model, profile) < 0)
        return -1;
    state->mig[state->migs++] = mig;
    return 0;
}

static int process_line(struct state *state, char *line)
{
    struct process process = {.gpu = -1, .mig = -1, .list = COMPUTE};
    char *key, *value;
    int more;
    while ((more = next_pair(&line, &key, &value)) > 0) {
        if (strcmp(key, "gpu") == 0)
            process.gpu = atoi(value);
        else if (strcmp(key, "pid") == 0)
            process.pid = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(key, "used_mib") == 0)
            process.used_mib = strtoull(value, NULL, 10);
        else if (strcmp(key, "mig") == 0)
            process.mig = atoi(value);
        else if (strcmp(key, "sm") == 0)
            process.sm = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(key, "graphics") == 0)
            process.list = atoi(value) != 0 ? GRAPHICS : COMPUTE;
        else if (strcmp(key, "mps") == 0)
            process.list = atoi(value) != 0 ? MPS : COMPUTE;
        else if (strcmp(key, "cgroup") == 0)
            snprintf(process.cgroup, sizeof process.cgroup, "%s", value);
        else if (strcmp(key, "managed") == 0)
            process.managed = atoi(value) != 0;
        else if (strcmp(key, "early") == 0)
            process.early = atoi(value) != 0;
        else if (strcmp(key, "real") == 0)
            process.real = atoi(value) != 0;
    }
    if (more < 0 || process.gpu < 0 || state->processes == PROCESSES_MAX || (process.real && process.gpu >= state->gpus))
        return -1;
    if (process.real) {
        state->gpu[process.gpu].used_mib += process.used_mib;
        state->gpu[process.gpu].sm += process.sm;
    }
    state->process[state->processes++] = process;
    return 0;
}

static int xid_line(struct state *state, char *line, int ecc)
{
    struct xid xid = {-1, 0, 0, ~0u, ~0u};
    char *key, *value;
    int more;
    while ((more = next_pair(&line, &key, &value)) > 0) {
        if (strcmp(key, "gpu") == 0)
            xid.gpu = atoi(value);
        else if (strcmp(key, "code") == 0)
            xid.code = strtoull(value, NULL, 10);
        else if (strcmp(key, "seq") == 0)
            xid.seq = strtoull(value, NULL, 10);
        else if (strcmp(key, "gi") == 0)
            xid.gpu_instance = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(key, "ci") == 0)
            xid.compute_instance = (unsigned)strtoul(value, NULL, 10);
    }
    if (more < 0 || xid.gpu < 0 || (xid.code == 0) != ecc || state->xids == XIDS_MAX)
        return -1;
    state->xid[state->xids++] = xid;
    return 0;
}

static int driver_line(struct state *state, char *line)
{
    char *key, *value;
    int more;
    while ((more = next_pair(&line, &key, &value)) > 0)
        if (strcmp(key, "version") == 0)
            snprintf(state->driver, sizeof state->driver, "%s", value);
        else if (strcmp(key, "process_bytes") == 0)
            state->process_bytes = strcmp(value, "32") == 0 ? 32 : 24;
        else if (strcmp(key, "privileges") == 0)
            state->privileges = strcmp(value, "caller") == 0 ? SYS_ADMIN_ONLY : NOBODY;
        else if (strcmp(key, "nodes") == 0)
            state->nodes = atoi(value);
        else if (strcmp(key, "limits") == 0)
            state->limits = strcmp(value, "dmem") == 0   ? LIMITS_DMEM
                            : strcmp(value, "misc") == 0 ? LIMITS_MISC
                            : strcmp(value, "half") == 0 ? LIMITS_HALF
                                                         : LIMITS_NONE;
    return more;
}

/* NVML's code for a function that the driver does not have. */
enum { FUNCTION_NOT_FOUND = 13 };

static int answer_line(struct state *state, char *line)
{
    struct answer answer = {"", -1, 0, 0};
    char *key, *value;
    int more;
    while ((more = next_pair(&line, &key, &value)) > 0) {
        if (strcmp(key, "function") == 0)
            snprintf(answer.function, sizeof answer.function, "%s", value);
        else if (strcmp(key, "gpu") == 0)
            answer.gpu = atoi(value);
        else if (strcmp(key, "code") == 0)
            answer.code = atoi(value);
        else if (strcmp(key, "missing") == 0)
            answer.code = FUNCTION_NOT_FOUND;
        else if (strcmp(key, "hang") == 0)
            answer.hang = atoi(value) != 0;
    }
    if (more < 0 || answer.function[0] == '\0' || (answer.code == 0 && !answer.hang) || state->answers == ANSWERS_MAX)
        return -1;
    state->answer[state->answers++] = answer;
    return 0;
}

static int state_line(struct state *state, char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return 0;
    size_t word = strcspn(line, " \t");
    char *rest = line + word;
    if (word == 3 && strncmp(line, "gpu", word) == 0)
        return gpu_line(state, rest);
    if (word == 3 && strncmp(line, "mig", word) == 0)
        return mig_line(state, rest);
    if (word == 7 && strncmp(line, "process", word) == 0)
        return process_line(state, rest);
    if (word == 3 && strncmp(line, "xid", word) == 0)
        return xid_line(state, rest, 0);
    if (word == 3 && strncmp(line, "ecc", word) == 0)
        return xid_line(state, rest, 1);
    if (word == 6 && strncmp(line, "driver", word) == 0)
        return driver_line(state, rest);
    if (word == 6 && strncmp(line, "answer", word) == 0)
        return answer_line(state, rest);
    return -1;
}

static int state_read(FILE *file, const char *path, struct state *state)
{
    static struct state fresh;
    char line[1024];
    int number = 0;
    memset(&fresh, 0, sizeof fresh);
    snprintf(fresh.driver, sizeof fresh.driver, "580.82.07");
    fresh.process_bytes = 24;
    while (fgets(line, sizeof line, file) != NULL) {
        number++;
        if (state_line(&fresh, line) != 0) {
            fprintf(stderr, "fakenvml: %s, line %d is malformed; expected e.g. "
                            "gpu index=0 uuid=GPU-0 model=\"Tesla T4\" memory_mib=15360, indexes from 0 in order\n",
                    path, number);
            return -1;
        }
    }
    *state = fresh;
    return 0;
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_again(struct state *state)
{
    const char *path = state_path();
    struct stat now;
    if (path == NULL)
        return -1;
    if (stat(path, &now) != 0) {
        memset(&seen, 0, sizeof seen);
        fprintf(stderr, "fakenvml: %s: %s\n", path, strerror(errno));
        return seen_result = -1;
    }
    if (same_file(&now, &seen))
        return seen_result;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return seen_result = -1;
    seen = now;
    seen_result = state_read(file, path, state);
    fclose(file);
    return seen_result;
}

/* A real process that has ended leaves its GPU as if it had never run. */
static void forget_ended(struct state *state)
{
    int kept = 0;
    for (int i = 0; i < state->processes; i++) {
        const struct process process = state->process[i];
        if (process.real && kill((pid_t)process.pid, 0) != 0 && errno == ESRCH) {
            state->gpu[process.gpu].used_mib -= process.used_mib;
            state->gpu[process.gpu].sm -= process.sm;
        } else {
            state->process[kept++] = process;
        }
    }
    state->processes = kept;
}

int state_refresh(struct state *state)
{
    int result = read_again(state);
    forget_ended(state);
    return result;
}

/* The path of a file for what was set, or -1. */
static int kept_path(char *file, size_t size, const char *name)
{
    const char *folder = getenv(MODES_VARIABLE), *path = state_path();
    int length = -1;
    if (folder != NULL && folder[0] != '\0')
        length = snprintf(file, size, "%s/%s.%s", folder, FILE_NAME, name);
    else if (path != NULL)
        length = snprintf(file, size, "%s.%s", path, name);
    return length >= 0 && (size_t)length < size ? 0 : -1;
}

static FILE *compute_mode_file(int index, const char *how)
{
    char file[4200], name[64];
    snprintf(name, sizeof name, "compute_mode.%d", index);
    return kept_path(file, sizeof file, name) == 0 ? fopen(file, how) : NULL;
}

static int limit_path(char *file, size_t size, int gpu, const struct cgroup *cgroup)
{
    char name[128];
    snprintf(name, sizeof name, "limit.%d.%llu.%llu", gpu, cgroup->device, cgroup->inode);
    return kept_path(file, size, name);
}

int state_limit(int gpu, const struct cgroup *cgroup, struct limit *limit)
{
    char path[4200];
    FILE *file = limit_path(path, sizeof path, gpu, cgroup) == 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return -1;
    int read = fscanf(file, "%llu %llu", &limit->soft, &limit->hard);
    fclose(file);
    return read == 2 ? 0 : -1;
}

int state_set_limit(int gpu, const struct cgroup *cgroup, const struct limit *limit)
{
    char path[4200];
    if (limit_path(path, sizeof path, gpu, cgroup) != 0)
        return -1;
    if (limit == NULL)
        return remove(path) == 0 || errno == ENOENT ? 0 : -1;
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return -1;
    fprintf(file, "%llu %llu\n", limit->soft, limit->hard);
    return fclose(file);
}

unsigned state_compute_mode(int index)
{
    unsigned mode = 0;
    FILE *file = compute_mode_file(index, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%u", &mode) != 1)
        mode = 0;
    fclose(file);
    return mode;
}

int state_set_compute_mode(int index, unsigned mode)
{
    FILE *file = compute_mode_file(index, "we");
    if (file == NULL)
        return -1;
    fprintf(file, "%u\n", mode);
    return fclose(file);
}
