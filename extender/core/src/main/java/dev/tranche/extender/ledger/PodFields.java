package dev.tranche.extender.ledger;

import dev.tranche.api.Demand.Kind;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fields of a Pod's JSON that decisions need. Absent texts, lists and maps are empty. */
public record PodFields(Metadata metadata, Spec spec, Status status) {
  public PodFields(@Nullable Metadata metadata, @Nullable Spec spec, @Nullable Status status) {
    this.metadata = metadata == null ? Metadata.NONE : metadata;
    this.spec = spec == null ? Spec.NONE : spec;
    this.status = status == null ? Status.NONE : status;
  }

  record Metadata(
      String name,
      String namespace,
      String uid,
      String creationTimestamp,
      String deletionTimestamp,
      Map<String, String> labels,
      Map<String, String> annotations) {
    static final Metadata NONE = new Metadata("", "", "", "", "", Map.of(), Map.of());
  }

  record Spec(
      String nodeName,
      String schedulerName,
      int priority,
      List<Container> containers,
      List<Container> initContainers,
      Map<String, String> overhead,
      @Nullable Affinity affinity,
      List<Rule> topologySpreadConstraints,
      List<Volume> volumes,
      List<Rule> resourceClaims,
      @Nullable Rule resources,
      @Nullable SchedulingGroup schedulingGroup) {
    static final Spec NONE =
        new Spec(
            "", "", 0, List.of(), List.of(), Map.of(), null, List.of(), List.of(), List.of(), null,
            null);

    /** Whether the pod is constrained, in the sense of {@link NodeNeeds}. */
    boolean constrained() {
      return !topologySpreadConstraints.isEmpty()
          || !resourceClaims.isEmpty()
          || resources != null
          || (affinity != null && affinity.requires())
          || volumes.stream().anyMatch(volume -> !volume.onEveryNode())
          || containers.stream().anyMatch(Container::hasHostPort)
          || initContainers.stream().anyMatch(Container::hasHostPort);
    }
  }

  /** From Kubernetes 1.37 on; before, a pod names no PodGroup in this way. */
  record SchedulingGroup(String podGroupName) {}

  /** The kinds of volumes that any number of pods can have on any node. */
  record Volume(
      @Nullable Rule hostPath,
      @Nullable Rule emptyDir,
      @Nullable Rule secret,
      @Nullable Rule downwardAPI,
      @Nullable Rule configMap,
      @Nullable Rule projected,
      @Nullable Rule image) {
    boolean onEveryNode() {
      return hostPath != null
          || emptyDir != null
          || secret != null
          || downwardAPI != null
          || configMap != null
          || projected != null
          || image != null;
    }
  }

  record Port(int hostPort) {}

  record Status(
      String phase, String startTime, String nominatedNodeName, List<Condition> conditions) {
    static final Status NONE = new Status("", "", "", List.of());
  }

  record Condition(String type, String status, String reason, String message) {}

  record Container(String name, String restartPolicy, Resources resources, List<Port> ports) {
    Container {
      resources = resources == null ? new Resources(Map.of(), Map.of()) : resources;
    }

    /** Returns what the container is, if it is an init container. */
    Kind initKind() {
      return restartPolicy.equals("Always") ? Kind.SIDECAR : Kind.INIT;
    }

    boolean hasHostPort() {
      return ports.stream().anyMatch(port -> port.hostPort != 0);
    }
  }

  record Resources(Map<String, String> limits, Map<String, String> requests) {}

  record Affinity(
      @Nullable NodeRules nodeAffinity,
      @Nullable PodRules podAffinity,
      @Nullable PodRules podAntiAffinity) {
    boolean prefers() {
      return prefers(podAffinity)
          || prefers(podAntiAffinity)
          || (nodeAffinity != null
              && !nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.isEmpty());
    }

    private static boolean prefers(@Nullable PodRules rules) {
      return rules != null && !rules.preferredDuringSchedulingIgnoredDuringExecution.isEmpty();
    }

    boolean requires() {
      return requires(podAffinity) || requires(podAntiAffinity);
    }

    private static boolean requires(@Nullable PodRules rules) {
      return rules != null && !rules.requiredDuringSchedulingIgnoredDuringExecution.isEmpty();
    }
  }

  record NodeRules(List<Rule> preferredDuringSchedulingIgnoredDuringExecution) {}

  record PodRules(
      List<Rule> preferredDuringSchedulingIgnoredDuringExecution,
      List<Rule> requiredDuringSchedulingIgnoredDuringExecution) {}

  /** Only the existence of a rule matters, not its content. */
  record Rule() {}

  /** Whether it prefers some nodes to others: by preferred affinity or topology spread. */
  public boolean hasNodePreferences() {
    return !spec.topologySpreadConstraints.isEmpty()
        || (spec.affinity != null && spec.affinity.prefers());
  }

  /** Returns the PodGroup that the pod is in, {@code namespace/name}; empty if it is in none. */
  public String group() {
    String name = spec.schedulingGroup == null ? "" : spec.schedulingGroup.podGroupName;
    return name.isEmpty() ? "" : metadata.namespace + "/" + name;
  }

  public String scheduler() {
    return spec.schedulerName;
  }

  public ReadPod read() {
    return new ReadPod(metadata, spec, status);
  }
}
