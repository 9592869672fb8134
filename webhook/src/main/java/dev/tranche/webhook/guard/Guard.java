package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.webhook.guard.Candidate.Container;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/**
 * Judges what a pod reaches for. The nvidia runtime gives a container whatever GPUs its variable
 * NVIDIA_VISIBLE_DEVICES names, and images of CUDA name all of them; so a container that asked for
 * none gets the value void, and one that asked may not name others. Seeing its own result again, it
 * changes nothing.
 */
public final class Guard {
  /** NVIDIA's own plugin's, without and with its renaming of shared GPUs. */
  private static final Set<String> PLAIN = Set.of("nvidia.com/gpu", "nvidia.com/gpu.shared");

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

  /**
   * @param mode the namespace's, or {@link #mode()}
   */
  public Verdict judge(Candidate pod, GuardMode mode) {
    if (rules.exemptServiceAccounts().contains(pod.serviceAccount())) {
      return new Verdict.Exempt();
    }
    if (pod.spec().path("os").path("name").asText("").equals("windows")) {
      return new Verdict.Admitted(JsonNodeFactory.instance.arrayNode(), List.of());
    }
    var sweep = new Sweep(mode);
    if (pod.creation()) {
      annotations(pod, sweep);
      hostPaths.sweep(pod.spec(), sweep);
    }
    boolean served = served(pod.spec());
    for (Container container : pod.containers()) {
      Variables.sweep(container, asksForGpus(pod, container.spec()), served, sweep);
      if (served) {
        DeviceListMounts.sweep(container, sweep);
      }
      if (container.spec().path("securityContext").path("privileged").asBoolean(false)) {
        sweep.tell(
            Finding.PRIVILEGED,
            "container \"%s\" is privileged, so every GPU of its node is open to it"
                .formatted(container.shown()));
      }
    }
    return sweep.verdict();
  }

  /** Which handler a RuntimeClass names is not known here, so any may be nvidia's. */
  private boolean served(JsonNode spec) {
    return rules.assumeDefaultRuntime() || !spec.path("runtimeClassName").asText("").isEmpty();
  }

  private static void annotations(Candidate pod, Sweep sweep) {
    pod.pod()
        .path("metadata")
        .path("annotations")
        .forEachEntry(
            (key, value) -> {
              if (key.startsWith("cdi.k8s.io/")) {
                boolean voided =
                    sweep.take(
                        Finding.CDI_ANNOTATION,
                        "annotation %s asks for \"%s\""
                            .formatted(Sweep.cut(key), Sweep.cut(value.asText(""))));
                if (voided) {
                  sweep.remove("metadata", "annotations", key);
                }
              }
            });
  }

  /** Limits and requests of extended resources are equal; whichever is there tells. */
  private boolean asksForGpus(Candidate pod, JsonNode container) {
    JsonNode resources = container.path("resources");
    return asks(pod, resources.path("limits")) || asks(pod, resources.path("requests"));
  }

  private boolean asks(Candidate pod, JsonNode quantities) {
    for (var quantity : quantities.properties()) {
      String resource = quantity.getKey();
      if (gives(resource) && !zero(quantity.getValue().asText("")) && counted(pod, resource)) {
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
   * The scheduler keeps a pod from nodes that lack what it requests. Past the scheduler the kubelet
   * runs it all the same, without a device, so there the request alone proves nothing. Of a node
   * without our labels nothing is known, and a GPU that was asked for is not taken away.
   */
  private boolean counted(Candidate pod, String resource) {
    String node = pod.spec().path("nodeName").asText("");
    if (node.isEmpty()) {
      return true;
    }
    Set<String> known = nodeResources.apply(node);
    return known.isEmpty() || known.contains(resource);
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
