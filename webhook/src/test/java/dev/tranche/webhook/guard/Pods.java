package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import java.util.List;
import java.util.stream.Stream;

/** Pods in short, with ' for ", and what the guard finds in them. */
final class Pods {
  static final String ONE_GPU = "'resources':{'limits':{'nvidia.com/gpu':'1'}}";

  private Pods() {}

  static List<String> found(Guard guard, JsonNode pod, GuardMode mode) {
    Stream<FindingOutcome> found =
        switch (guard.judge(created(pod), mode)) {
          case Verdict.Admitted admitted -> admitted.found().stream();
          case Verdict.Exempt _, Verdict.Denied _ -> Stream.of();
        };
    return found.map(f -> f.finding().toString() + "=" + f.outcome()).toList();
  }

  static GuardedPod created(JsonNode pod) {
    return GuardedPod.created("team", pod);
  }

  static JsonNode mounting(String path) {
    return pod(
        "'volumes':[{'name':'h','hostPath':{'path':'%s'}}],'containers':[{'name':'main',%s}]"
            .formatted(path, ONE_GPU));
  }

  static JsonNode pod(String spec) {
    return json("{'metadata':{'name':'p'},'spec':{" + spec + "}}");
  }

  static JsonNode json(String text) {
    return Reviews.json(text.replace('\'', '"'));
  }
}
