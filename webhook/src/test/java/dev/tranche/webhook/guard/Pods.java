package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;

/** Pods in short, with ' for ", and what the guard finds in them. */
final class Pods {
  static final String ONE_GPU = "'resources':{'limits':{'nvidia.com/gpu':'1'}}";

  private Pods() {}

  static List<String> found(Guard guard, JsonNode pod, GuardMode mode) {
    return guard.judge(created(pod), mode).found().stream()
        .map(f -> f.finding().toString() + "=" + f.outcome())
        .toList();
  }

  /** Of a pod that is admitted. */
  static JsonNode patch(Verdict verdict) {
    return switch (verdict.mutation()) {
      case Mutation.Admitted(var patch, var warnings) -> patch;
      case Mutation.Denied denied -> throw new AssertionError(denied.message());
    };
  }

  static GuardedPod created(JsonNode pod) {
    return Reviews.created("team", pod);
  }

  static JsonNode mounting(String path) {
    return pod(
        "'volumes':[{'name':'h','hostPath':{'path':'%s'}}],'containers':[{'name':'main',%s}]"
            .formatted(path, ONE_GPU));
  }

  static JsonNode pod(String spec) {
    return Reviews.json("{'metadata':{'name':'p'},'spec':{" + spec + "}}");
  }
}
