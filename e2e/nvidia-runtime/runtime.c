// An OCI runtime in front of runc that handles NVIDIA_VISIBLE_DEVICES like NVIDIA's runtime, for nodes with
// simulated GPUs. It injects nothing. It records what it would have injected, in one file per container.
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpus.h"
#include "json.h"

// Each can be set in `nvidia-container-runtime.conf` beside the program, by the same name.
struct config {
    char gpu_state[PATH_MAX];
    char records[PATH_MAX];
    char runc[PATH_MAX];
};

struct invocation {
    const char *log;          // where containerd reads the reason of a failure
    const char *bundle;       // NULL if this is no `create`
    const char *container_id;
};

static const char *log_path;

static void write_json_text(FILE *out, const char *text) {
    if (text == NULL) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c < 0x20) {
            fprintf(out, "\\u%04x", *c);
        } else {
            fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
    }
    fputc('"', out);
}

// containerd shows the last error of the runtime's log in the pod's events.
static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    FILE *log = log_path == NULL ? NULL : fopen(log_path, "ae");
    if (log != NULL) {
        fputs("{\"level\":\"error\",\"msg\":", log);
        write_json_text(log, message);
        fputs("}\n", log);
        fclose(log);
    }
    fprintf(stderr, "%s\n", message);
    exit(EXIT_FAILURE);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    if (file == NULL || getdelim(&text, &size, 0, file) < 0) {
        fail("nvidia-container-runtime: cannot read %s: %s", path, strerror(errno));
    }
    fclose(file);
    return text;
}

static void set_option(struct config *config, char *line) {
    char *value = strchr(line, '=');
    if (*line == '#' || value == NULL) {
        return;
    }
    *value++ = 0;
    value[strcspn(value, "\r\n")] = 0;
    char *target = strcmp(line, "gpu_state") == 0 ? config->gpu_state
                   : strcmp(line, "records") == 0 ? config->records
                   : strcmp(line, "runc") == 0    ? config->runc
                                                  : NULL;
    if (target != NULL) {
        snprintf(target, PATH_MAX, "%s", value);
    }
}

static struct config read_config(void) {
    struct config config = {
        .gpu_state = "/opt/tranche-e2e/driver/usr/lib64/gpus.state",
        .records = "/var/log/tranche-e2e/injected",
        .runc = "runc",
    };
    char self[PATH_MAX - 32] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        return config;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/nvidia-container-runtime.conf", dirname(self));
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    while (file != NULL && getline(&line, &size, file) > 0) {
        set_option(&config, line);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return config;
}

// The value of an option given as `--name value` or `--name=value`, else NULL; skips a separate value.
static const char *option_value(char **arguments, int *at, const char *name) {
    size_t length = strlen(name);
    const char *argument = arguments[*at];
    if (strncmp(argument, name, length) != 0) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    return argument[length] == 0 && arguments[*at + 1] != NULL ? arguments[++*at] : NULL;
}

static struct invocation read_arguments(char **arguments) {
    struct invocation invocation = {0};
    int create = 0;
    for (int i = 1; arguments[i] != NULL; i++) {
        const char *value;
        if ((value = option_value(arguments, &i, "--log")) != NULL) {
            invocation.log = value;
        } else if (create && ((value = option_value(arguments, &i, "--bundle")) != NULL ||
                              (value = option_value(arguments, &i, "-b")) != NULL)) {
            invocation.bundle = value;
        } else if (strcmp(arguments[i], "create") == 0) {
            create = 1;
        } else if (create) {
            invocation.container_id = arguments[i]; // the last argument
        }
    }
    return invocation;
}

static const char *requested_devices(const struct json *spec) {
    static const char name[] = "NVIDIA_VISIBLE_DEVICES=";
    const struct json *env = json_member(json_member(spec, "process"), "env");
    const char *requested = NULL;
    for (const struct json *entry = env == NULL ? NULL : env->child; entry != NULL; entry = entry->next) {
        if (entry->text != NULL && strncmp(entry->text, name, sizeof name - 1) == 0) {
            requested = entry->text + sizeof name - 1; // the last one wins, as in the container
        }
    }
    return requested;
}

static int wants_driver(const char *requested) {
    return requested != NULL && *requested != 0 && strcmp(requested, "void") != 0;
}

static struct gpus choose_gpus(const struct config *config, const char *requested) {
    struct gpus all;
    struct gpus chosen = {0};
    if (!wants_driver(requested)) {
        return chosen;
    }
    if (gpus_read(config->gpu_state, &all) != 0) {
        fail("nvidia-container-cli: initialization error: nvml error: driver not loaded");
    }
    if (strcmp(requested, "none") == 0) {
        return chosen;
    }
    const char *unknown = gpus_resolve(&all, requested, &chosen);
    if (unknown != NULL) {
        fail("nvidia-container-cli: device error: %s: unknown device", unknown);
    }
    return chosen;
}

// Some containerd versions that are still in use lack the annotation; the cgroup's path has the same UID.
static const char *pod_uid(const struct json *spec, const struct json *annotations) {
    static char uid[37];
    const char *annotated = json_string(annotations, "io.kubernetes.cri.sandbox-uid");
    const char *path = json_string(json_member(spec, "linux"), "cgroupsPath");
    if (annotated != NULL || path == NULL) {
        return annotated;
    }
    for (const char *at = path; (at = strstr(at, "pod")) != NULL; at++) {
        size_t length = strspn(at + 3, "0123456789abcdef-_");
        if (length >= 32 && length < sizeof uid) {
            snprintf(uid, sizeof uid, "%.*s", (int)length, at + 3);
            for (char *c = uid; *c != 0; c++) {
                *c = *c == '_' ? '-' : *c; // systemd's form
            }
            return uid;
        }
    }
    return NULL;
}

static void write_member(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\":", name);
    write_json_text(out, text);
    fputc(',', out);
}

static void write_record(FILE *out, const char *container_id, const struct json *spec, const struct gpus *chosen) {
    const struct json *annotations = json_member(spec, "annotations");
    const char *requested = requested_devices(spec);
    fputc('{', out);
    write_member(out, "containerId", container_id);
    write_member(out, "podNamespace", json_string(annotations, "io.kubernetes.cri.sandbox-namespace"));
    write_member(out, "podName", json_string(annotations, "io.kubernetes.cri.sandbox-name"));
    write_member(out, "podUid", pod_uid(spec, annotations));
    write_member(out, "containerName", json_string(annotations, "io.kubernetes.cri.container-name"));
    write_member(out, "requested", requested);
    fprintf(out, "\"driver\":%s,\"uuids\":[", wants_driver(requested) ? "true" : "false");
    for (int i = 0; i < chosen->count; i++) {
        fputs(i == 0 ? "" : ",", out);
        write_json_text(out, chosen->gpu[i].uuid);
    }
    fputs("]}\n", out);
}

static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
    mkdir(path, 0755);
}

// A reader never sees half a record, since the file is renamed when it is complete.
static void record(struct config *config, const char *container_id, const struct json *spec,
                   const struct gpus *chosen) {
    char path[PATH_MAX + 256];
    char unfinished[PATH_MAX + 256];
    make_folders(config->records);
    snprintf(path, sizeof path, "%s/%s.json", config->records, container_id);
    snprintf(unfinished, sizeof unfinished, "%s/.%s", config->records, container_id);
    FILE *out = fopen(unfinished, "we");
    if (out == NULL) {
        fail("nvidia-container-runtime: cannot write %s: %s", unfinished, strerror(errno));
    }
    write_record(out, container_id, spec, chosen);
    if (fclose(out) != 0 || rename(unfinished, path) != 0) {
        fail("nvidia-container-runtime: cannot write %s: %s", path, strerror(errno));
    }
}

static void prepare(struct config *config, const struct invocation *invocation) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/config.json", invocation->bundle);
    const struct json *spec = json_parse(read_file(path));
    if (spec == NULL) {
        fail("nvidia-container-runtime: %s is not JSON", path);
    }
    const char *type = json_string(json_member(spec, "annotations"), "io.kubernetes.cri.container-type");
    if (type != NULL && strcmp(type, "sandbox") == 0) {
        return; // a pod's sandbox is not a container of the user
    }
    struct gpus chosen = choose_gpus(config, requested_devices(spec));
    record(config, invocation->container_id, spec, &chosen);
}

int main(int argument_count, char **arguments) {
    (void)argument_count;
    struct config config = read_config();
    struct invocation invocation = read_arguments(arguments);
    log_path = invocation.log;
    if (invocation.bundle != NULL && invocation.container_id != NULL) {
        prepare(&config, &invocation);
    }
    arguments[0] = config.runc;
    execvp(config.runc, arguments);
    fail("nvidia-container-runtime: cannot start %s: %s", config.runc, strerror(errno));
}
