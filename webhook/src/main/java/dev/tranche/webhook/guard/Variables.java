package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The variables of a container that say which GPUs it sees, and how much of them. The pod's beat
 * the device plugin's and the image's; the last of several entries beats the others; and env beats
 * envFrom.
 */
final class Variables {
  private static final String NAME = "NVIDIA_VISIBLE_DEVICES";
  private static final String VOID = "void";

  /** The device plugin makes these of a share, on nodes that share by MPS. */
  private static final List<String> MPS_LIMITS =
      List.of("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");

  /** Values that open no GPU. */
  private static final Set<String> HARMLESS = Set.of("", VOID, "none");

  private Variables() {}

  /**
   * @param served whether the nvidia runtime may run the container: nobody else reads {@link
   *     #NAME}, whereas the limits of MPS are read by CUDA itself
   */
  static void scan(Container container, boolean asksForGpus, boolean served, GuardScan scan) {
    List<String> watched = watched(asksForGpus, served);
    var places = new ArrayList<Integer>();
    int index = -1;
    int count = 0;
    boolean close = false;
    boolean ours = false;
    for (JsonNode variable : container.spec().path("env")) {
      index++;
      String name = variable.path("name").asText("");
      if (!watched.contains(name)) {
        continue;
      }
      places.add(index);
      if (!name.equals(NAME)) {
        close |=
            scan.take(
                Finding.MPS_LIMIT,
                "container \"%s\" sets %s, which follows from its share",
                container.name(),
                name);
        continue;
      }
      count++;
      String value = variable.path("value").asText("");
      if (variable.path("valueFrom").isObject()) {
        close |=
            scan.take(
                Finding.ENV_VALUE_FROM,
                "container \"%s\" sets %s from elsewhere",
                container.name(),
                NAME);
      } else if (HARMLESS.contains(value)) {
        ours = value.equals(VOID);
      } else {
        close |=
            scan.take(
                Finding.ENV, "container \"%s\" sets %s to \"%s\"", container.name(), NAME, value);
      }
    }
    List<String> taken = taken(container, watched);
    if (asksForGpus) {
      // The void of an earlier call, before some other webhook added the request.
      if (close || (ours && scan.changes())) {
        scan.removeAll(places, container.path("env"));
      }
      if (!taken.isEmpty()) {
        scan.tell(Finding.ENV_FROM, taking(taken), container.name());
      }
    } else if (close) {
      scan.removeAll(places, container.path("env"));
      scan.put(voided(), container.path("env", "-"));
    } else if (served && count == 0 && scan.changes()) {
      putVoid(container, scan);
    } else if (count == 0 && !taken.isEmpty()) {
      scan.tellQuietly(Finding.ENV_FROM, taking(taken), container.name());
    }
  }

  /** Without a GPU the limits mean nothing. */
  private static List<String> watched(boolean asksForGpus, boolean served) {
    return Stream.concat(
            served ? Stream.of(NAME) : Stream.of(), asksForGpus ? MPS_LIMITS.stream() : Stream.of())
        .toList();
  }

  private static String taking(List<String> names) {
    return "container \"%s\" takes variables by envFrom, and "
        + String.join(" or ", names)
        + " may be one";
  }

  /** Those that a key of a source of envFrom, with its prefix, can be. */
  private static List<String> taken(Container container, List<String> watched) {
    return watched.stream()
        .filter(
            name -> {
              for (JsonNode source : container.spec().path("envFrom")) {
                if (name.startsWith(source.path("prefix").asText(""))) {
                  return true;
                }
              }
              return false;
            })
        .toList();
  }

  private static void putVoid(Container container, GuardScan scan) {
    if (container.spec().path("env").isEmpty()) {
      scan.put(JsonNodeFactory.instance.arrayNode().add(voided()), container.path("env"));
    } else {
      scan.put(voided(), container.path("env", "-"));
    }
  }

  private static ObjectNode voided() {
    return JsonNodeFactory.instance.objectNode().put("name", NAME).put("value", VOID);
  }
}
