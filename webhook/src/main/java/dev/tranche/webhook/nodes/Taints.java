package dev.tranche.webhook.nodes;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Taint;
import io.fabric8.kubernetes.api.model.NodeSpec;
import java.util.List;
import java.util.stream.Stream;

/**
 * A node's taints that keep pods away, judged as kube-scheduler does.
 *
 * @param list those of effect NoSchedule and NoExecute
 */
public record Taints(List<Taint> list) {
  public static final Taints NONE = new Taints(List.of());

  static Taints of(NodeSpec spec) {
    Stream<Taint> own =
        spec.getTaints().stream().map(t -> new Taint(t.getKey(), t.getValue(), t.getEffect()));
    Stream<Taint> cordoned =
        Boolean.TRUE.equals(spec.getUnschedulable()) ? Stream.of(Taint.UNSCHEDULABLE) : Stream.of();
    return new Taints(Stream.concat(own.filter(Taint::keepsAway), cordoned).toList());
  }

  /**
   * @param podSpec of a pod, as JSON
   */
  public boolean toleratedBy(JsonNode podSpec) {
    JsonNode tolerations = podSpec.path("tolerations");
    return list.stream()
        .allMatch(taint -> tolerations.valueStream().anyMatch(each -> tolerates(each, taint)));
  }

  private static boolean tolerates(JsonNode toleration, Taint taint) {
    return taint.toleratedBy(
        text(toleration, "key"),
        text(toleration, "operator"),
        text(toleration, "value"),
        text(toleration, "effect"));
  }
}
