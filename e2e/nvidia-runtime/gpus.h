// The GPUs of this node and their MIG devices, and which of them a container's NVIDIA_VISIBLE_DEVICES asks for.
#ifndef GPUS_H
#define GPUS_H

#define GPUS_MAX 64

struct gpus {
    int count;
    struct {
        char index[16]; // of a MIG device `0:1`: its GPU's and its own
        char uuid[64];
    } gpu[GPUS_MAX];
};

// Reads the lines `gpu index=… uuid=… …` and `mig gpu=… index=… uuid=… …` of a state file. 0, or -1 where there is no such file: no driver.
int gpus_read(const char *path, struct gpus *gpus);

// The GPUs of a request: `all`, or a list of uuids and indices separated by commas. NULL, or the entry
// that names no GPU of this node.
const char *gpus_resolve(const struct gpus *all, const char *request, struct gpus *chosen);

#endif
