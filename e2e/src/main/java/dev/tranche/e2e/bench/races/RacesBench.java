package dev.tranche.e2e.bench.races;

import dev.tranche.e2e.bench.races.RacingPods.Seen;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Tranche;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Races of pods on a real cluster of three nodes until so many were bound, and whether a kubelet
 * refused any of them.
 */
public final class RacesBench {
  private static final String NAMESPACE = "default";
  private static final int PODS_AT_ONCE = 40;
  private static final int ROUNDS_MIN = 5;

  private RacesBench() {}

  /**
   * What the races came to.
   *
   * @param explanations of each pod that was refused, or saw another GPU than assigned
   * @param untilRunningMs from creation
   */
  public record Outcome(
      int created,
      int bound,
      int ran,
      int refused,
      int wrongGpu,
      int failedRequests,
      List<Double> untilRunningMs,
      List<String> explanations) {}

  /**
   * @param bound how many are to be bound at least
   */
  public static Outcome run(Artifacts artifacts, int bound) {
    var nodes = new LinkedHashMap<String, List<Model>>();
    for (String node : List.of("one", "two", "three")) {
      nodes.put(node, List.of(Model.T4, Model.T4));
    }
    var plan =
        new Tranche.Plan(
            "races",
            artifacts.root().resolve("target/races"),
            nodes,
            gpus -> {},
            Map.of(),
            false,
            step -> System.err.println(step));
    try (Tranche tranche = Tranche.start(artifacts, plan)) {
      RacingPods pods = RacingPods.watch(tranche.client(), NAMESPACE);
      var race = new Race(tranche.client(), NAMESPACE, pods);
      int roundsMax = ROUNDS_MIN + 4 * bound / PODS_AT_ONCE;
      for (int round = 0; bound(pods) < bound; round++) {
        if (round == roundsMax) {
          throw new IllegalStateException(
              "only %d of %d pods were bound in %d rounds".formatted(bound(pods), bound, round));
        }
        race.run("r" + round + "-", PODS_AT_ONCE);
        System.err.println("round " + round + ": " + bound(pods) + " pods were bound so far");
      }
      return outcome(tranche, pods, race);
    }
  }

  private static int bound(RacingPods pods) {
    return (int) pods.all().stream().filter(Seen::bound).count();
  }

  private static Outcome outcome(Tranche tranche, RacingPods pods, Race race) {
    List<Seen> all = pods.all();
    Set<String> refused = refused(tranche);
    all.stream().filter(Seen::refused).map(Seen::uid).forEach(refused::add);
    var failure = new FailedPods(tranche, NAMESPACE);
    var explanations = new ArrayList<String>();
    Map<String, String> wrong = new TreeMap<>(race.wrongGpu());
    all.stream()
        .filter(pod -> refused.contains(pod.uid()) || wrong.containsKey(pod.uid()))
        .sorted(Comparator.comparingLong(Seen::createdNanos))
        .forEach(pod -> explanations.add(failure.explain(pod, wrong.getOrDefault(pod.uid(), ""))));
    explanations.addAll(race.errors());
    explanations.add(preferences(tranche));
    return new Outcome(
        all.size(),
        bound(pods),
        (int) all.stream().filter(Seen::ran).count(),
        refused.size(),
        wrong.size(),
        race.errors().size(),
        all.stream()
            .filter(Seen::ran)
            .map(pod -> (pod.runningNanos() - pod.createdNanos()) / 1e6)
            .toList(),
        explanations);
  }

  /** By the kubelets' events: who is deleted at once has no status that says it. */
  private static Set<String> refused(Tranche tranche) {
    return tranche.client().v1().events().inNamespace(NAMESPACE).list().getItems().stream()
        .filter(event -> "kubelet".equals(event.getSource().getComponent()))
        .filter(event -> event.getReason().matches("UnexpectedAdmissionError|OutOf.*|.*Affinity.*"))
        .map(event -> event.getInvolvedObject().getUid())
        .collect(Collectors.toCollection(HashSet::new));
  }

  /** By what the plugins found out whose allocation it was, and how often a List was late. */
  private static String preferences(Tranche tranche) {
    return tranche.parts("node-plugin").stream()
        .flatMap(pod -> tranche.metrics(pod).lines())
        .filter(line -> line.matches("tranche_node_(preferred|lists|allocations).*"))
        .collect(Collectors.joining("\n"));
  }
}
