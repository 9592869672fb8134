// The GPUs of this node and their MIG devices, and which of them a container's NVIDIA_VISIBLE_DEVICES requests.
#ifndef GPUS_H
#define GPUS_H

#define GPUS_MAX 64

struct gpus {
    int count;
    struct {
        char index[16]; // for a MIG device `0:1`: its GPU's index and its own
        char uuid[64];
    } gpu[GPUS_MAX];
};

// Reads the lines `gpu index=… uuid=… …` and `mig gpu=… index=… uuid=… …` of a state file.
// Returns 0, or -1 if there is no such file, which means that there is no driver.
int gpus_read(const char *path, struct gpus *gpus);

// Selects the GPUs of a request: `all`, or a list of uuids and indices separated by commas. Returns NULL, or
// the entry that names no GPU of this node.
const char *gpus_resolve(const struct gpus *all, const char *request, struct gpus *chosen);

#endif
