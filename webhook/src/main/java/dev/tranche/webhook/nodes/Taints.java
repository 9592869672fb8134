package dev.tranche.webhook.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.stream.Stream;

/**
 * A node's taints that keep pods away, judged as kube-scheduler does.
 *
 * @param list those of effect NoSchedule and NoExecute
 */
public record Taints(List<SlimNode.Taint> list) {
  public static final Taints NONE = new Taints(List.of());

  /** The taint by which kube-scheduler represents {@code spec.unschedulable}. */
  private static final SlimNode.Taint CORDONED =
      new SlimNode.Taint("node.kubernetes.io/unschedulable", "", "NoSchedule");

  static Taints of(SlimNode.Spec spec) {
    Stream<SlimNode.Taint> cordoned = spec.unschedulable() ? Stream.of(CORDONED) : Stream.of();
    return new Taints(
        Stream.concat(
                spec.taints().stream().filter(t -> !t.effect().equals("PreferNoSchedule")),
                cordoned)
            .toList());
  }

  /**
   * @param podSpec of a pod, as JSON
   */
  public boolean toleratedBy(JsonNode podSpec) {
    return list.stream().allMatch(taint -> tolerated(taint, podSpec.path("tolerations")));
  }

  private static boolean tolerated(SlimNode.Taint taint, JsonNode tolerations) {
    return tolerations.valueStream().anyMatch(toleration -> tolerates(toleration, taint));
  }

  private static boolean tolerates(JsonNode toleration, SlimNode.Taint taint) {
    String key = toleration.path("key").asText("");
    String effect = toleration.path("effect").asText("");
    boolean exists = toleration.path("operator").asText("").equals("Exists");
    boolean sameKey = key.equals(taint.key()) || (key.isEmpty() && exists);
    boolean sameEffect = effect.isEmpty() || effect.equals(taint.effect());
    return sameKey
        && sameEffect
        && (exists || toleration.path("value").asText("").equals(taint.value()));
  }
}
