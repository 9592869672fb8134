package dev.tranche.e2e.bench.plane;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Pods that fit no node of {@link ClusterObjects}, as they are after admission by the webhook. */
public enum WaitingPods {
  /** A pod that requests one replica of a GPU that does not exist. */
  SHORT,
  /**
   * The worst pod that admission allows. Its lists are as long as allowed, differ in each pod, and
   * are compared with every GPU. Its shares are such that no search on an empty node can decide
   * within its bounds whether they fit.
   */
  WORST;

  /** The label of all these pods. */
  public static final String LABEL = "bench-waiting";

  /** The webhook's {@code PlacementAnnotations.LIST_ENTRIES_MAX}, and the length of an entry. */
  private static final int ENTRIES = 64;

  private static final int ENTRY_CHARS = 64;

  /** The pod's shares in replicas; a node has 80 replicas on eight GPUs. */
  private static final List<Integer> SHARES =
      List.of(5, 4, 4, 4, 4, 5, 4, 3, 4, 4, 4, 5, 4, 5, 5, 4, 5, 3);

  /** Creates {@code count} pods of this kind. */
  public void create(KubernetesClient client, int count) {
    IntFunction<String> pod = this == SHORT ? WaitingPods::withShortList : WaitingPods::withAll;
    ClusterObjects.create(
        client, "/api/v1/namespaces/" + ClusterObjects.NAMESPACE + "/pods", count, pod);
  }

  private static String withShortList(int number) {
    return pod(number, List.of(1), "\"%s\":\"GPU-none\"".formatted(Names.GPU_UUID));
  }

  static String withAll(int number) {
    String lists =
        "\"%s\":\"%s\",\"%s\":\"%s\""
            .formatted(Names.GPU_MODEL, list("!", number), Names.GPU_UUID, list("!GPU-", number));
    return pod(number, SHARES, lists);
  }

  private static String list(String prefix, int number) {
    return IntStream.range(0, ENTRIES)
        .mapToObj(i -> "%s%d-%d-".formatted(prefix, number, i))
        .map(start -> start + "x".repeat(ENTRY_CHARS - start.length()))
        .collect(Collectors.joining(","));
  }

  private static String pod(int number, List<Integer> shares, String annotations) {
    String fractions =
        IntStream.range(0, shares.size())
            .mapToObj(i -> "\"%sc%d\":\"0.%d\",".formatted(Names.GPU_FRACTION_OF, i, shares.get(i)))
            .collect(Collectors.joining());
    String containers =
        IntStream.range(0, shares.size())
            .mapToObj(
                i ->
                    """
                    {"name":"c%d","image":"registry.example.com/team-1/image-1:v1.1",
                    "resources":{"limits":{"%s":"%d"}}}"""
                        .formatted(i, Names.RESOURCE, shares.get(i)))
            .collect(Collectors.joining(","));
    return """
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"waiting-%d","labels":{"%s":"true"},
    "annotations":{%s"%s":"10",%s}},
    "spec":{"terminationGracePeriodSeconds":0,"containers":[%s]}}
    """
        .formatted(number, LABEL, fractions, Names.REPLICAS_PER_GPU, annotations, containers);
  }
}
