package dev.tranche.e2e.bench.races;

import dev.tranche.e2e.bench.races.RacingPods.WatchedPod;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Gathers what a person needs to explain why a pod failed. */
final class FailedPods {
  private static final int LINES_BEFORE = 12;

  private final Tranche tranche;
  private final String namespace;

  FailedPods(Tranche tranche, String namespace) {
    this.tranche = tranche;
    this.namespace = namespace;
  }

  String explain(WatchedPod pod, String wrongGpu) {
    var status = pod.last().getStatus();
    String node = pod.last().getSpec().getNodeName();
    return Stream.of(
            "POD %s (%s) on %s: %s"
                .formatted(
                    pod.name(),
                    pod.uid(),
                    node,
                    wrongGpu.isEmpty()
                        ? status.getReason() + ": " + status.getMessage()
                        : wrongGpu),
            "  annotations " + pod.last().getMetadata().getAnnotations(),
            section("events", events(pod)),
            section("node plugin", lines("node-plugin", node, pod)),
            section("extender", lines("extender", "", pod)))
        .collect(Collectors.joining("\n"));
  }

  private static String section(String title, Stream<String> lines) {
    return lines
        .map(line -> "    " + line)
        .collect(Collectors.joining("\n", "  " + title + ":\n", ""));
  }

  private Stream<String> events(WatchedPod pod) {
    return tranche.client().v1().events().inNamespace(namespace).list().getItems().stream()
        .filter(event -> pod.uid().equals(event.getInvolvedObject().getUid()))
        .map(FailedPods::text);
  }

  private static String text(Event event) {
    String at =
        event.getFirstTimestamp() == null
            ? String.valueOf(event.getEventTime())
            : event.getFirstTimestamp();
    return at + " " + event.getReason() + ": " + event.getMessage();
  }

  /**
   * Returns the log lines that name the pod. Of the node plugin, it adds the lines before them,
   * which concern its neighbours.
   */
  private Stream<String> lines(String part, String node, WatchedPod pod) {
    return tranche.parts(part).stream()
        .filter(of -> node.isEmpty() || node.equals(of.getSpec().getNodeName()))
        .flatMap(of -> around(log(of), pod, node.isEmpty() ? 0 : LINES_BEFORE).stream());
  }

  private List<String> log(Pod of) {
    return tranche
        .client()
        .pods()
        .inNamespace(Tranche.NAMESPACE)
        .withName(of.getMetadata().getName())
        .inContainer(of.getSpec().getContainers().getFirst().getName())
        .usingTimestamps()
        .getLog()
        .lines()
        .toList();
  }

  private static List<String> around(List<String> log, WatchedPod pod, int before) {
    var wanted = new boolean[log.size()];
    String name = "/" + pod.name();
    for (int i = 0; i < log.size(); i++) {
      if (log.get(i).contains(pod.uid()) || (log.get(i) + " ").contains(name + " ")) {
        for (int j = Math.max(0, i - before); j <= i; j++) {
          wanted[j] = true;
        }
      }
    }
    return IntStream.range(0, wanted.length).filter(i -> wanted[i]).mapToObj(log::get).toList();
  }
}
