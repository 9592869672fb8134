package dev.tranche.webhook.guard;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * Decides about pods that reach for GPUs. The nvidia runtime gives a container the GPUs that its
 * variable NVIDIA_VISIBLE_DEVICES names, and CUDA images name all of them. A container that
 * requests no GPU therefore gets the value void. One that requests GPUs may not name others.
 * Applied to its own result, the guard changes nothing.
 */
public final class Guard {
  /** The resource of NVIDIA's own plugin, without and with its renaming of shared GPUs. */
  static final List<String> NVIDIA_RESOURCES = List.of("nvidia.com/gpu", "nvidia.com/gpu.shared");

  /**
   * Capabilities that open the files of other processes, and those that include such a capability.
   */
  private static final Set<String> TRACING_CAPABILITIES =
      Set.of("SYS_PTRACE", "CAP_SYS_PTRACE", "SYS_ADMIN", "CAP_SYS_ADMIN", "ALL", "CAP_ALL");

  private static final Pattern DEVICE_ANNOTATIONS = GpuAccessPath.deviceAnnotations();

  private final GuardRules rules;
  private final HostPaths hostPaths;
  private final Function<String, Set<String>> nodeResources;

  /**
   * @param nodeResources names of the resources that a node has some of, by the node's name; empty
   *     where the node is not known
   */
  public Guard(GuardRules rules, Function<String, Set<String>> nodeResources) {
    this.rules = rules;
    this.nodeResources = nodeResources;
    this.hostPaths = new HostPaths(rules.kubeletRoot());
  }

  /**
   * @param mode of the pod's namespace
   */
  public Verdict judge(GuardedPod pod, GuardMode mode) {
    if (rules.exemptServiceAccounts().contains(pod.serviceAccount()) || pod.view().isOfWindows()) {
      return Verdict.UNCHANGED;
    }
    var scan = new GuardScan(mode);
    if (pod.creation()) {
      scanAnnotations(pod, scan);
      hostPaths.scan(pod.spec(), scan);
    }
    boolean mayUseNvidiaRuntime = mayUseNvidiaRuntime(pod.spec());
    boolean hostPid = pod.view().sharesHostPids();
    String node = pod.view().text("nodeName");
    Set<String> onNode = node.isEmpty() ? Set.of() : nodeResources.apply(node);
    boolean anyGpu = false;
    for (Container container : pod.containers()) {
      boolean requestsGpus = requestsGpus(onNode, container.spec());
      anyGpu |= requestsGpus;
      Variables.scan(container, requestsGpus, mayUseNvidiaRuntime, scan);
      if (mayUseNvidiaRuntime) {
        DeviceListMounts.scan(container, scan);
      }
      if (container.privileged()) {
        scan.recordUnremovable(
            GuardFinding.PRIVILEGED,
            "container \"%s\" is privileged, so it can access every GPU of its node",
            container.name());
      } else if (hostPid) {
        tracingCapability(container)
            .ifPresent(
                capability ->
                    scan.recordUnremovable(
                        GuardFinding.HOST_PROCESSES,
                        "container \"%s\" has hostPID and the capability %s, so it can access the"
                            + " files of all processes",
                        container.name(),
                        capability));
      }
    }
    if (pod.creation() && !anyGpu) {
      scanRuntimeClass(pod.spec(), scan);
    }
    return scan.verdict();
  }

  /** A pod that names the runtime itself, and neither a GPU nor a claim, sees no GPU. */
  private static void scanRuntimeClass(JsonNode spec, GuardScan scan) {
    String runtimeClass = text(spec, "runtimeClassName");
    if (runtimeClass.startsWith("nvidia")
        && spec.path("resourceClaims").isEmpty()
        && !scan.hasFound(GuardFinding.ENV)) {
      scan.recordVoided(
          GuardFinding.RUNTIME_CLASS,
          "the pod names RuntimeClass \"%s\" and requests no GPU, so it sees none; to monitor GPUs"
              + " it needs the namespace label tranche.dev/guard: exempt",
          runtimeClass);
    }
  }

  /**
   * Writes back what an update states again and the guard had taken away at the pod's creation.
   *
   * @param before the pod as it is
   * @param after the pod as the update would make it
   */
  public Mutation restore(JsonNode before, JsonNode after) {
    var known = new PodView(before);
    return new GuardUpdate(
            container -> requestsGpus(Set.of(), container.spec()),
            mayUseNvidiaRuntime(known.spec()))
        .restore(known, new PodView(after));
  }

  /** Returns a capability that opens {@code /proc/PID/root} of other processes. */
  private static Optional<String> tracingCapability(Container container) {
    return container
        .spec()
        .path("securityContext")
        .path("capabilities")
        .path("add")
        .valueStream()
        .map(capability -> capability.asText(""))
        .filter(capability -> TRACING_CAPABILITIES.contains(capability.toUpperCase(Locale.ROOT)))
        .findFirst();
  }

  /**
   * Whether the nvidia runtime may run the pod. The handler of a RuntimeClass is not known here, so
   * any may be nvidia's.
   */
  private boolean mayUseNvidiaRuntime(JsonNode spec) {
    return rules.assumeDefaultRuntime() || !text(spec, "runtimeClassName").isEmpty();
  }

  private void scanAnnotations(GuardedPod pod, GuardScan scan) {
    if (pod.view().pod().path("metadata").path("annotations") instanceof ObjectNode annotations) {
      var removed = new HashSet<String>();
      annotations.forEachEntry(
          (key, value) ->
              finding(key)
                  .filter(
                      finding ->
                          scan.recordRemovable(
                              finding, "annotation %s requests \"%s\"", key, value.asText("")))
                  .ifPresent(finding -> removed.add(key)));
      if (!removed.isEmpty()) {
        scan.put(annotations.deepCopy().without(removed), "metadata", "annotations");
      }
    }
  }

  private Optional<GuardFinding> finding(String annotation) {
    if (rules.cdiAnnotationPrefixes().stream().anyMatch(annotation::startsWith)) {
      return Optional.of(GuardFinding.CDI_ANNOTATION);
    }
    return DEVICE_ANNOTATIONS.matcher(annotation).matches()
        ? Optional.of(GuardFinding.DEVICE_ANNOTATION)
        : Optional.empty();
  }

  /** Limits and requests of extended resources are equal, so either one is enough. */
  private boolean requestsGpus(Set<String> onNode, JsonNode container) {
    JsonNode resources = container.path("resources");
    return containsGpus(onNode, resources.path("limits"))
        || containsGpus(onNode, resources.path("requests"));
  }

  /**
   * Whether one of the quantities is of GPUs, and of a resource that the node has.
   *
   * <p>The scheduler keeps a pod off nodes that lack what it requests. A pod that names its node
   * skips the scheduler. The kubelet runs it even without the device, so its request alone proves
   * nothing.
   *
   * @param onNode what the node has that spec.nodeName names; empty where that is not known, so
   *     that a requested GPU is not taken away
   */
  private boolean containsGpus(Set<String> onNode, JsonNode quantities) {
    return quantities
        .propertyStream()
        .anyMatch(
            quantity ->
                isGpuResource(quantity.getKey())
                    && PodView.count(quantity.getValue()) > 0
                    && (onNode.isEmpty() || onNode.contains(quantity.getKey())));
  }

  /**
   * Whether the resource gives access to a GPU. Other nvidia.com resources, such as network cards,
   * do not.
   */
  private boolean isGpuResource(String resource) {
    return NVIDIA_RESOURCES.contains(resource)
        || resource.startsWith("nvidia.com/mig-")
        || rules.resources().contains(resource);
  }
}
