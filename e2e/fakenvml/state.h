/* The simulated GPUs, as the text file gpus.state beside the library describes them. */
#ifndef TRANCHE_FAKENVML_STATE_H
#define TRANCHE_FAKENVML_STATE_H

/*
 * With the headers of glibc 2.38 and later strtol and sscanf would become __isoc23_ ones, which the C library of an
 * older image does not have. The macro was renamed with the standard.
 */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

enum { GPUS_MAX = 64, MIGS_MAX = 256, PROCESSES_MAX = 1024, XIDS_MAX = 256, ANSWERS_MAX = 64, TEXT_MAX = 96, LINKS_MAX = 18, CGROUP_MAX = 512 };

/* What GPM measures of a GPU: NVML's metrics 1, 2, 3, 5 and 10. */
enum { GPM_GRAPHICS, GPM_SM, GPM_OCCUPANCY, GPM_TENSOR, GPM_DRAM, GPM_METRICS };

struct gpu {
    int index;
    char uuid[TEXT_MAX];
    char model[TEXT_MAX];
    char pci[32];
    unsigned long long memory_mib;
    unsigned long long reserved_mib;
    unsigned long long used_mib;
    /* The total that nvmlDeviceGetMemoryInfo_v2 tells; 0: the same. */
    unsigned long long v2_total_mib;
    unsigned sm;
    unsigned memory_util;
    unsigned minor;
    /* NVML's number: 0 none, 1 HMM, 2 ATS. */
    unsigned addressing;
    unsigned cc_major;
    unsigned cc_minor;
    int lost;
    int mig;
    /* Topology: the GPU at the other end of each NVLink, or -1; PCIe switch, -1 for none; NUMA node. */
    int nvlink[LINKS_MAX];
    int pcie_switch;
    int node;
    /* Only for a MIG device; index is then its number on its GPU. */
    int parent;
    unsigned gi;
    unsigned ci;
    unsigned gi_slices;
    unsigned ci_slices;
    long long temperature_c;
    long long power_mw;
    long long throttle;
    long long ecc_uncorrected;
    /* Whether the GPU says that it supports GPM, and whether its counters stand still. */
    int gpm;
    int gpm_stall;
    /* In percent. */
    double gpm_percent[GPM_METRICS];
};

struct process {
    int gpu;
    unsigned pid;
    unsigned long long used_mib;
    int mig;
    unsigned sm;
    enum { COMPUTE, GRAPHICS, MPS } list; /* which of NVML's lists of processes */
    /* The folder of its cgroup; empty: not known. */
    char cgroup[CGROUP_MAX];
    /* Its memory is managed (cudaMallocManaged), which no limit counts. */
    int managed;
    /* It allocated before its cgroup got a limit. */
    int early;
    /* A process of this machine, whose use is its GPU's while it lives. */
    int real;
};

/* With code 0: a double-bit ECC event. */
struct xid {
    int gpu;
    unsigned long long code;
    unsigned long long seq;
    unsigned gpu_instance;
    unsigned compute_instance;
};

/* The result that a function must return, for one GPU or, with -1, for all. */
struct answer {
    char function[TEXT_MAX];
    int gpu;
    int code;
    int hang;
};

struct state {
    int gpus;
    int processes;
    int xids;
    char driver[TEXT_MAX];
    /* Size of the structs that report running processes. */
    unsigned process_bytes;
    /* Who gets what the driver keeps from unprivileged callers. */
    enum { EVERYBODY, SYS_ADMIN_ONLY, NOBODY } privileges;
    /* Whether callers need the driver's device node. */
    int nodes;
    /* What keeps memory limits: nothing since the driver is older than they are, nothing on this kernel, or a backend. */
    enum { LIMITS_UNKNOWN, LIMITS_NONE, LIMITS_DMEM, LIMITS_MISC, LIMITS_HALF } limits;
    int answers;
    struct answer answer[ANSWERS_MAX];
    struct gpu gpu[GPUS_MAX];
    int migs;
    struct gpu mig[MIGS_MAX];
    struct process process[PROCESSES_MAX];
    struct xid xid[XIDS_MAX];
};

/*
 * Reads the file again if it has changed since the last time (device, inode, mtime or size). A missing or malformed
 * file leaves *state unchanged. Returns 0, or -1 with a message on stderr.
 */
int state_refresh(struct state *state);

/* The compute mode last set, from the file gpus.state.compute_mode.<index>; 0 (default) where there is none. */
unsigned state_compute_mode(int index);

/* Returns 0, or -1 if the file cannot be written. */
int state_set_compute_mode(int index, unsigned mode);

struct limit {
    unsigned long long soft, hard;
};

/* A cgroup by the identity of its folder, since callers may see it under different paths. */
struct cgroup {
    unsigned long long device, inode;
};

/* The limit that a cgroup itself has, from the file gpus.state.limit.<gpu>.<device>.<inode>. Returns 0, or -1 for none. */
int state_limit(int gpu, const struct cgroup *cgroup, struct limit *limit);

/* With NULL, removes the limit. Returns 0, or -1 if the file cannot be written. */
int state_set_limit(int gpu, const struct cgroup *cgroup, const struct limit *limit);

#endif
