#include "gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads the value of `key=` from a line's tokens; a quoted value may contain spaces. Returns 1 if it is there.
static int token_value(const char *line, const char *key, char *value, size_t size) {
    size_t key_length = strlen(key);
    const char *at = line;
    while (*at != 0) {
        at += strspn(at, " \t\r\n");
        int matches = strncmp(at, key, key_length) == 0 && at[key_length] == '=';
        const char *start = at + strcspn(at, "= \t\r\n");
        start += *start == '=';
        int quoted = *start == '"';
        start += quoted;
        size_t length = strcspn(start, quoted ? "\"\n" : " \t\r\n");
        if (matches) {
            snprintf(value, size, "%.*s", (int)length, start);
            return 1;
        }
        at = start + length + (start[length] == '"');
    }
    return 0;
}

static void add(struct gpus *gpus, const char *index, const char *line) {
    if (gpus->count < GPUS_MAX &&
        token_value(line, "uuid", gpus->gpu[gpus->count].uuid, sizeof gpus->gpu[0].uuid)) {
        snprintf(gpus->gpu[gpus->count++].index, sizeof gpus->gpu[0].index, "%s", index);
    }
}

static void add_line(struct gpus *gpus, const char *line) {
    char parent[8];
    char index[8];
    char both[sizeof gpus->gpu[0].index];
    if (strncmp(line, "gpu ", 4) == 0 && token_value(line + 4, "index", index, sizeof index)) {
        add(gpus, index, line + 4);
    } else if (strncmp(line, "mig ", 4) == 0 && token_value(line + 4, "gpu", parent, sizeof parent) &&
               token_value(line + 4, "index", index, sizeof index)) {
        snprintf(both, sizeof both, "%s:%s", parent, index);
        add(gpus, both, line + 4);
    }
}

int gpus_read(const char *path, struct gpus *gpus) {
    gpus->count = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        add_line(gpus, line);
    }
    free(line);
    fclose(file);
    return 0;
}

static int find(const struct gpus *all, const char *wanted) {
    for (int i = 0; i < all->count; i++) {
        if (strcmp(wanted, all->gpu[i].uuid) == 0 || strcmp(wanted, all->gpu[i].index) == 0) {
            return i;
        }
    }
    return -1;
}

const char *gpus_resolve(const struct gpus *all, const char *request, struct gpus *chosen) {
    chosen->count = 0;
    if (strcmp(request, "all") == 0) {
        *chosen = *all;
        return NULL;
    }
    char *list = strdup(request);
    char *rest = list;
    for (char *wanted; (wanted = strsep(&rest, ",")) != NULL;) {
        if (*wanted == 0) {
            continue;
        }
        int i = find(all, wanted);
        if (i < 0) {
            return wanted;
        }
        // A GPU that is named twice is given once.
        if (find(chosen, all->gpu[i].uuid) < 0) {
            chosen->gpu[chosen->count++] = all->gpu[i];
        }
    }
    free(list);
    return NULL;
}
