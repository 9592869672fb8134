package dev.tranche.webhook.guard;

import static dev.tranche.webhook.pod.PodView.text;
import static java.util.stream.Collectors.toSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks the variables of a container that select its GPUs and limit their use. The pod's variables
 * override those of the device plugin and of the image. The last of several entries overrides the
 * others, and env overrides envFrom.
 */
final class Variables {
  static final String NAME = "NVIDIA_VISIBLE_DEVICES";
  static final String VOID = "void";

  /**
   * The nvidia runtime reads these, too: memory of GPUs on other nodes, the switches between GPUs,
   * and the division of GPUs into MIG devices.
   */
  static final List<String> DEVICES =
      List.of(
          "NVIDIA_IMEX_CHANNELS",
          "NVIDIA_NVSWITCH",
          "NVIDIA_MIG_CONFIG_DEVICES",
          "NVIDIA_MIG_MONITOR_DEVICES");

  /**
   * The device plugin derives these from a share: limits of MPS, and those that NVIDIA's hook sets.
   */
  static final List<String> LIMITS =
      List.of(
          "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
          "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
          "NVIDIA_GPU_MEMORY_LIMIT",
          "NVIDIA_GPU_MEMORY_REQUEST");

  // A pod may have thousands of containers: nothing is made for each of them.
  private static final List<String> OF_RUNTIME =
      Stream.concat(Stream.of(NAME), DEVICES.stream()).toList();
  private static final List<String> ALL =
      Stream.concat(OF_RUNTIME.stream(), LIMITS.stream()).toList();

  /** Values that open no GPU. */
  static final Set<String> HARMLESS = Set.of("", VOID, "none");

  private Variables() {}

  /**
   * @param mayUseNvidiaRuntime whether the nvidia runtime may run the container: nobody else reads
   *     {@link #NAME} and {@link #DEVICES}, whereas the limits are read by others, too
   */
  static void scan(
      Container container, boolean requestsGpus, boolean mayUseNvidiaRuntime, GuardScan scan) {
    List<String> watched = watched(requestsGpus, mayUseNvidiaRuntime);
    boolean named = false;
    boolean hasOurVoid = false;
    boolean found = false;
    boolean remove = false;
    for (JsonNode variable : container.spec().path("env")) {
      if (watched.contains(text(variable, "name"))) {
        named |= isNamed(variable, NAME);
        hasOurVoid |= isVoid(variable);
        if (isRemoved(variable)) {
          found = true;
          remove |= record(container, variable, scan);
        }
      }
    }
    List<String> settable = settableByEnvFrom(container, watched);
    if (requestsGpus) {
      // An earlier call added the void, before another webhook added the request.
      if (remove || (hasOurVoid && !found && scan.injectsVoid())) {
        scan.replace(container, "env", without(container, watched));
      }
      if (!settable.isEmpty()) {
        scan.recordUnremovable(GuardFinding.ENV_FROM, envFromTemplate(settable), container.name());
      }
    } else if (remove) {
      scan.replace(container, "env", without(container, watched).add(voidVariable()));
    } else if (mayUseNvidiaRuntime && !named && scan.injectsVoid()) {
      putVoid(container, scan);
    } else if (!named && !settable.isEmpty()) {
      scan.recordWithoutWarning(GuardFinding.ENV_FROM, envFromTemplate(settable), container.name());
    }
  }

  /** Returns whether to remove it. */
  private static boolean record(Container container, JsonNode variable, GuardScan scan) {
    String name = text(variable, "name");
    if (LIMITS.contains(name)) {
      return scan.recordRemovable(
          GuardFinding.SHARE_LIMIT,
          "container \"%s\" sets %s, which is derived from its share",
          container.name(),
          name);
    }
    return variable.path("valueFrom").isObject()
        ? scan.recordRemovable(
            GuardFinding.ENV_VALUE_FROM,
            "container \"%s\" sets %s from a field, ConfigMap or Secret",
            container.name(),
            name)
        : scan.recordRemovable(
            GuardFinding.ENV,
            "container \"%s\" sets %s to \"%s\"",
            container.name(),
            name,
            text(variable, "value"));
  }

  private static ArrayNode without(Container container, List<String> names) {
    ArrayNode kept = JsonNodeFactory.instance.arrayNode();
    container
        .spec()
        .path("env")
        .valueStream()
        .filter(variable -> !names.contains(text(variable, "name")))
        .forEach(kept::add);
    return kept;
  }

  private static boolean isNamed(JsonNode variable, String name) {
    return text(variable, "name").equals(name);
  }

  static boolean isVoid(JsonNode variable) {
    return isNamed(variable, NAME)
        && text(variable, "value").equals(VOID)
        && !variable.path("valueFrom").isObject();
  }

  /** Returns the variables to check. Without a GPU, the limits have no effect. */
  static List<String> watched(boolean requestsGpus, boolean mayUseNvidiaRuntime) {
    if (mayUseNvidiaRuntime) {
      return requestsGpus ? ALL : OF_RUNTIME;
    }
    return requestsGpus ? LIMITS : List.of();
  }

  /** Whether the guard removes a watched variable. */
  static boolean isRemoved(JsonNode variable) {
    return LIMITS.contains(text(variable, "name"))
        || variable.path("valueFrom").isObject()
        || !HARMLESS.contains(text(variable, "value"));
  }

  /** Names {@link #DEVICES} only if none of the better known variables may be set. */
  private static String envFromTemplate(List<String> names) {
    return names.stream()
        .filter(name -> !names.contains(NAME) || !DEVICES.contains(name))
        .collect(
            Collectors.joining(
                " or ", "container \"%s\" gets variables from envFrom, and ", " may be one"));
  }

  /** Returns the variables that a key of an envFrom source, with its prefix, can set. */
  private static List<String> settableByEnvFrom(Container container, List<String> watched) {
    JsonNode sources = container.spec().path("envFrom");
    if (sources.isEmpty()) {
      return List.of();
    }
    Set<String> prefixes =
        sources.valueStream().map(source -> text(source, "prefix")).collect(toSet());
    return watched.stream().filter(name -> prefixes.stream().anyMatch(name::startsWith)).toList();
  }

  private static void putVoid(Container container, GuardScan scan) {
    if (container.spec().path("env").isEmpty()) {
      scan.replace(container, "env", JsonNodeFactory.instance.arrayNode().add(voidVariable()));
    } else {
      scan.put(voidVariable(), container.path("env", "-"));
    }
  }

  private static ObjectNode voidVariable() {
    return JsonNodeFactory.instance.objectNode().put("name", NAME).put("value", VOID);
  }
}
