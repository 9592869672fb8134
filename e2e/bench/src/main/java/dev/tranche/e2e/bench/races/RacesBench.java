package dev.tranche.e2e.bench.races;

import dev.tranche.e2e.bench.races.RacingPods.WatchedPod;
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
 * Runs races of pods on a real cluster of three nodes until enough were bound, and checks whether a
 * kubelet refused any of them.
 */
public final class RacesBench {
  private static final String NAMESPACE = "default";
  private static final int PODS_AT_ONCE = 40;
  private static final int ROUNDS_MIN = 5;

  private RacesBench() {}

  /**
   * The result of the races.
   *
   * @param untilRunningMs the times from creation until a pod runs
   * @param explanations one for each pod that was refused or saw another GPU than assigned, then
   *     failed requests and metrics
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
    return (int) pods.all().stream().filter(WatchedPod::bound).count();
  }

  private static Outcome outcome(Tranche tranche, RacingPods pods, Race race) {
    List<WatchedPod> all = pods.all();
    Set<String> refused = refused(tranche);
    all.stream().filter(WatchedPod::refused).map(WatchedPod::uid).forEach(refused::add);
    var failure = new FailedPods(tranche, NAMESPACE);
    var explanations = new ArrayList<String>();
    Map<String, String> wrong = new TreeMap<>(race.wrongGpu());
    all.stream()
        .filter(pod -> refused.contains(pod.uid()) || wrong.containsKey(pod.uid()))
        .sorted(Comparator.comparingLong(WatchedPod::createdNanos))
        .forEach(pod -> explanations.add(failure.explain(pod, wrong.getOrDefault(pod.uid(), ""))));
    explanations.addAll(race.errors());
    explanations.add(preferences(tranche));
    return new Outcome(
        all.size(),
        bound(pods),
        (int) all.stream().filter(WatchedPod::ran).count(),
        refused.size(),
        wrong.size(),
        race.errors().size(),
        all.stream()
            .filter(WatchedPod::ran)
            .map(pod -> (pod.runningNanos() - pod.createdNanos()) / 1e6)
            .toList(),
        explanations);
  }

  /**
   * Returns the uids of refused pods, by the kubelets' events: the status of a pod that is deleted
   * at once does not say it.
   */
  private static Set<String> refused(Tranche tranche) {
    return tranche.client().v1().events().inNamespace(NAMESPACE).list().getItems().stream()
        .filter(event -> "kubelet".equals(event.getSource().getComponent()))
        .filter(event -> event.getReason().matches("UnexpectedAdmissionError|OutOf.*|.*Affinity.*"))
        .map(event -> event.getInvolvedObject().getUid())
        .collect(Collectors.toCollection(HashSet::new));
  }

  /**
   * Returns the plugins' metrics of how they identified the pod of an allocation, and of late
   * Lists.
   */
  private static String preferences(Tranche tranche) {
    return tranche.parts("node-plugin").stream()
        .flatMap(pod -> tranche.metrics(pod).lines())
        .filter(line -> line.matches("tranche_node_(preferred|lists|allocations).*"))
        .collect(Collectors.joining("\n"));
  }
}
