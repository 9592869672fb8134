package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Judges what a pod reaches for. The nvidia runtime gives a container the GPUs that its variable
 * NVIDIA_VISIBLE_DEVICES names, and CUDA images name all of them. A container that asked for none
 * therefore gets the value void, and one that asked may not name others. Seeing its own result
 * again, it changes nothing.
 */
public final class Guard {
  /** NVIDIA's own plugin's, without and with its renaming of shared GPUs. */
  private static final Set<String> PLAIN = Set.of("nvidia.com/gpu", "nvidia.com/gpu.shared");

  /** What opens the files of another's process, and what holds it. */
  private static final Set<String> TRACING =
      Set.of("SYS_PTRACE", "CAP_SYS_PTRACE", "SYS_ADMIN", "CAP_SYS_ADMIN", "ALL", "CAP_ALL");

  private static final Pattern DEVICE_ANNOTATIONS = GpuAccess.deviceAnnotations();

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

  public GuardMode mode() {
    return rules.mode();
  }

  /** A review that nothing else could be made of. */
  public GuardFailure undecided(byte[] body) {
    return new GuardFailure(body, rules.cdiAnnotationPrefixes());
  }

  /**
   * @param mode the namespace's, or {@link #mode()}
   */
  public Verdict judge(GuardedPod pod, GuardMode mode) {
    if (rules.exemptServiceAccounts().contains(pod.serviceAccount())) {
      return new Verdict.Exempt();
    }
    if (pod.spec().path("os").path("name").asText("").equals("windows")) {
      return new Verdict.Admitted(JsonNodeFactory.instance.arrayNode(), List.of());
    }
    var scan = new GuardScan(mode);
    if (pod.creation()) {
      annotations(pod, scan);
      hostPaths.scan(pod.spec(), scan);
    }
    boolean served = served(pod.spec());
    boolean hostPid = pod.spec().path("hostPID").asBoolean(false);
    var node = new Node(pod.spec().path("nodeName").asText(""));
    for (Container container : pod.containers()) {
      Variables.scan(container, asksForGpus(node, container.spec()), served, scan);
      if (served) {
        DeviceListMounts.scan(container, scan);
      }
      JsonNode security = container.spec().path("securityContext");
      if (security.path("privileged").asBoolean(false)) {
        scan.tell(
            Finding.PRIVILEGED,
            "container \"%s\" is privileged, so every GPU of its node is open to it",
            container.name());
      } else if (hostPid) {
        tracing(security)
            .ifPresent(
                capability ->
                    scan.tell(
                        Finding.HOST_PROCESSES,
                        "container \"%s\" has hostPID and the capability %s, so the files of all processes are open to it",
                        container.name(),
                        capability));
      }
    }
    return scan.verdict();
  }

  /** A capability that opens {@code /proc/PID/root} of others' processes. */
  private static Optional<String> tracing(JsonNode security) {
    return security
        .path("capabilities")
        .path("add")
        .valueStream()
        .map(capability -> capability.asText(""))
        .filter(capability -> TRACING.contains(capability.toUpperCase(Locale.ROOT)))
        .findFirst();
  }

  /** Which handler a RuntimeClass names is not known here, so any may be nvidia's. */
  private boolean served(JsonNode spec) {
    return rules.assumeDefaultRuntime() || !spec.path("runtimeClassName").asText("").isEmpty();
  }

  private void annotations(GuardedPod pod, GuardScan scan) {
    pod.view()
        .annotations()
        .forEach(
            (key, value) ->
                finding(key)
                    .ifPresent(
                        finding -> {
                          if (scan.take(finding, "annotation %s asks for \"%s\"", key, value)) {
                            scan.remove("metadata", "annotations", key);
                          }
                        }));
  }

  private Optional<Finding> finding(String annotation) {
    for (String prefix : rules.cdiAnnotationPrefixes()) {
      if (annotation.startsWith(prefix)) {
        return Optional.of(Finding.CDI_ANNOTATION);
      }
    }
    return DEVICE_ANNOTATIONS.matcher(annotation).matches()
        ? Optional.of(Finding.DEVICE_ANNOTATION)
        : Optional.empty();
  }

  /** Limits and requests of extended resources are equal; whichever is there tells. */
  private boolean asksForGpus(Node node, JsonNode container) {
    JsonNode resources = container.path("resources");
    return asks(node, resources.path("limits")) || asks(node, resources.path("requests"));
  }

  private boolean asks(Node node, JsonNode quantities) {
    for (var quantity : quantities.properties()) {
      String resource = quantity.getKey();
      if (gives(resource) && !zero(quantity.getValue().asText("")) && node.counts(resource)) {
        return true;
      }
    }
    return false;
  }

  /** Other resources of nvidia.com are network cards, say; they open no GPU. */
  private boolean gives(String resource) {
    return PLAIN.contains(resource)
        || resource.startsWith("nvidia.com/mig-")
        || rules.resources().contains(resource);
  }

  /**
   * The node that a pod names itself, looked up once, however many containers ask.
   *
   * <p>The scheduler keeps a pod from nodes that lack what it requests. Past the scheduler the
   * kubelet runs it all the same, without a device, so there the request alone proves nothing. Of a
   * node without our labels nothing is known, and a GPU that was asked for is not taken away.
   */
  private final class Node {
    private final String name;
    private @Nullable Set<String> resources;

    Node(String name) {
      this.name = name;
    }

    boolean counts(String resource) {
      if (name.isEmpty()) {
        return true;
      }
      Set<String> known = resources == null ? nodeResources.apply(name) : resources;
      resources = known;
      return known.isEmpty() || known.contains(resource);
    }
  }

  /** The digits before a suffix or an exponent decide. */
  private static boolean zero(String quantity) {
    for (int i = 0; i < quantity.length(); i++) {
      char c = quantity.charAt(i);
      if (c >= '1' && c <= '9') {
        return false;
      }
      if (Character.isLetter(c)) {
        return true;
      }
    }
    return true;
  }
}
