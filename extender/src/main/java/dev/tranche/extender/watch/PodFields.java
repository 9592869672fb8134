package dev.tranche.extender.watch;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.tranche.extender.ledger.PodDraft;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fields of a Pod's JSON that decisions need. Go writes null for empty fields. */
public record PodFields(@Nullable Metadata metadata, @Nullable Spec spec, @Nullable Status status) {
  /** Ignores unknown fields. */
  public static final JsonMapper JSON =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  record Metadata(
      @Nullable String name,
      @Nullable String namespace,
      @Nullable String uid,
      @Nullable String creationTimestamp,
      @Nullable String deletionTimestamp,
      @Nullable Map<String, String> labels,
      @Nullable Map<String, String> annotations) {}

  record Spec(
      @Nullable String nodeName,
      int priority,
      @Nullable List<Container> containers,
      @Nullable List<Container> initContainers,
      @Nullable Map<String, String> overhead,
      @Nullable Affinity affinity,
      @Nullable List<Rule> topologySpreadConstraints) {}

  record Status(
      @Nullable String phase, @Nullable String startTime, @Nullable String nominatedNodeName) {}

  record Container(
      @Nullable String name, @Nullable String restartPolicy, @Nullable Resources resources) {
    Map<String, String> limits() {
      return resources == null ? Map.of() : texts(resources.limits);
    }

    Map<String, String> requests() {
      return resources == null ? Map.of() : texts(resources.requests);
    }
  }

  record Resources(@Nullable Map<String, String> limits, @Nullable Map<String, String> requests) {}

  record Affinity(
      @Nullable Rules nodeAffinity, @Nullable Rules podAffinity, @Nullable Rules podAntiAffinity) {
    boolean prefers() {
      return prefers(nodeAffinity) || prefers(podAffinity) || prefers(podAntiAffinity);
    }

    private static boolean prefers(@Nullable Rules rules) {
      return rules != null
          && !list(rules.preferredDuringSchedulingIgnoredDuringExecution).isEmpty();
    }
  }

  record Rules(@Nullable List<Rule> preferredDuringSchedulingIgnoredDuringExecution) {}

  /** Only the existence of a rule matters, not its content. */
  record Rule() {}

  public static PodFields of(Pod pod) {
    return JSON.convertValue(pod, PodFields.class);
  }

  /** Whether it prefers some nodes to others: by preferred affinity or topology spread. */
  public boolean hasNodePreferences() {
    return spec != null
        && (!list(spec.topologySpreadConstraints).isEmpty()
            || (spec.affinity != null && spec.affinity.prefers()));
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
      list(spec.containers).forEach(c -> draft.container(text(c.name), c.limits(), c.requests()));
    }
    if (status != null) {
      draft.phase(text(status.phase)).nominatedNode(status.nominatedNodeName);
      if (status.startTime != null) {
        draft.startedAt(status.startTime);
      }
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
