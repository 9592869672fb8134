package dev.tranche.extender.ledger;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fields of a Pod's JSON that decisions need. Go writes null for empty fields. */
public record PodFields(@Nullable Metadata metadata, @Nullable Spec spec, @Nullable Status status) {
  record Metadata(
      @Nullable String name,
      @Nullable String namespace,
      @Nullable String uid,
      @Nullable String resourceVersion,
      @Nullable String creationTimestamp,
      @Nullable String deletionTimestamp,
      @Nullable Map<String, String> labels,
      @Nullable Map<String, String> annotations) {}

  record Spec(
      @Nullable String nodeName,
      @Nullable String schedulerName,
      int priority,
      @Nullable List<Container> containers,
      @Nullable List<Container> initContainers,
      @Nullable Map<String, String> overhead,
      @Nullable Affinity affinity,
      @Nullable List<Rule> topologySpreadConstraints,
      @Nullable List<Volume> volumes,
      @Nullable List<Rule> resourceClaims,
      @Nullable Rule resources,
      @Nullable SchedulingGroup schedulingGroup) {
    /** Whether the pod is constrained, in the sense of {@link NodeNeeds}. */
    boolean constrained() {
      return !list(topologySpreadConstraints).isEmpty()
          || !list(resourceClaims).isEmpty()
          || resources != null
          || (affinity != null && affinity.requires())
          || list(volumes).stream().anyMatch(volume -> !volume.onEveryNode())
          || list(containers).stream().anyMatch(Container::hasHostPort)
          || list(initContainers).stream().anyMatch(Container::hasHostPort);
    }
  }

  /** From Kubernetes 1.37 on; before, a pod names no PodGroup in this way. */
  record SchedulingGroup(@Nullable String podGroupName) {}

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
      @Nullable String phase,
      @Nullable String startTime,
      @Nullable String nominatedNodeName,
      @Nullable List<Condition> conditions,
      @Nullable List<ContainerStatus> containerStatuses,
      @Nullable List<ContainerStatus> initContainerStatuses) {}

  record Condition(
      @Nullable String type,
      @Nullable String status,
      @Nullable String reason,
      @Nullable String message) {
    void addTo(PodDraft draft) {
      draft.condition(text(type), text(status), text(reason), text(message));
    }
  }

  record ContainerStatus(
      @Nullable String name,
      @Nullable Map<String, String> allocatedResources,
      @Nullable Resources resources) {
    void addTo(PodDraft draft) {
      draft.granted(text(name), texts(allocatedResources));
      draft.granted(text(name), resources == null ? Map.of() : texts(resources.requests));
    }
  }

  record Container(
      @Nullable String name,
      @Nullable String restartPolicy,
      @Nullable Resources resources,
      @Nullable List<Port> ports) {
    boolean hasHostPort() {
      return list(ports).stream().anyMatch(port -> port.hostPort != 0);
    }

    Map<String, String> limits() {
      return resources == null ? Map.of() : texts(resources.limits);
    }

    Map<String, String> requests() {
      return resources == null ? Map.of() : texts(resources.requests);
    }
  }

  record Resources(@Nullable Map<String, String> limits, @Nullable Map<String, String> requests) {}

  record Affinity(
      @Nullable NodeRules nodeAffinity,
      @Nullable PodRules podAffinity,
      @Nullable PodRules podAntiAffinity) {
    boolean prefers() {
      return prefers(podAffinity)
          || prefers(podAntiAffinity)
          || (nodeAffinity != null
              && !list(nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution).isEmpty());
    }

    private static boolean prefers(@Nullable PodRules rules) {
      return rules != null
          && !list(rules.preferredDuringSchedulingIgnoredDuringExecution).isEmpty();
    }

    boolean requires() {
      return requires(podAffinity) || requires(podAntiAffinity);
    }

    private static boolean requires(@Nullable PodRules rules) {
      return rules != null && !list(rules.requiredDuringSchedulingIgnoredDuringExecution).isEmpty();
    }
  }

  record NodeRules(@Nullable List<Rule> preferredDuringSchedulingIgnoredDuringExecution) {}

  record PodRules(
      @Nullable List<Rule> preferredDuringSchedulingIgnoredDuringExecution,
      @Nullable List<Rule> requiredDuringSchedulingIgnoredDuringExecution) {}

  /** Only the existence of a rule matters, not its content. */
  record Rule() {}

  /** Whether it prefers some nodes to others: by preferred affinity or topology spread. */
  public boolean hasNodePreferences() {
    return spec != null
        && (!list(spec.topologySpreadConstraints).isEmpty()
            || (spec.affinity != null && spec.affinity.prefers()));
  }

  /** Returns the PodGroup that the pod is in, {@code namespace/name}; empty if it is in none. */
  public String group() {
    if (metadata == null || spec == null || spec.schedulingGroup == null) {
      return "";
    }
    String name = text(spec.schedulingGroup.podGroupName);
    return name.isEmpty() ? "" : text(metadata.namespace) + "/" + name;
  }

  public String resourceVersion() {
    return metadata == null ? "" : text(metadata.resourceVersion);
  }

  public String scheduler() {
    return spec == null ? "" : text(spec.schedulerName);
  }

  public PodDraft draft() {
    var draft = new PodDraft();
    if (metadata != null) {
      draft.identity(text(metadata.namespace), text(metadata.name), text(metadata.uid));
      texts(metadata.labels).forEach(draft::label);
      texts(metadata.annotations).forEach(draft::annotation);
      draft.deletedAt(metadata.deletionTimestamp);
      if (metadata.creationTimestamp != null) {
        draft.createdAt(metadata.creationTimestamp);
      }
    }
    if (spec != null) {
      draft.node(spec.nodeName).priority(spec.priority).overhead(texts(spec.overhead));
      list(spec.initContainers)
          .forEach(
              c -> draft.initContainer(text(c.name), c.restartPolicy, c.limits(), c.requests()));
      if (spec.constrained()) {
        draft.constrained();
      }
      list(spec.containers).forEach(c -> draft.container(text(c.name), c.limits(), c.requests()));
    }
    if (status != null) {
      draft.phase(text(status.phase)).nominatedNode(status.nominatedNodeName);
      if (status.startTime != null) {
        draft.startedAt(status.startTime);
      }
      list(status.conditions).forEach(each -> each.addTo(draft));
      list(status.containerStatuses).forEach(each -> each.addTo(draft));
      list(status.initContainerStatuses).forEach(each -> each.addTo(draft));
    }
    return draft;
  }

  private static String text(@Nullable String read) {
    return read == null ? "" : read;
  }

  private static <T> List<T> list(@Nullable List<T> read) {
    return read == null ? List.of() : read;
  }

  private static Map<String, String> texts(@Nullable Map<String, String> read) {
    if (read == null) {
      return Map.of();
    }
    read.replaceAll((key, value) -> text(value));
    return read;
  }
}
