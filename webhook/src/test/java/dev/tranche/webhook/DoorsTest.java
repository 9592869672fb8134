package dev.tranche.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a pod gets that requests one GPU by number, half of one by annotation, or both, by each way
 * that a pod can take to a node. Both together are one share or are denied. AdmissionRulesTest of
 * the chart has the ways past the webhook.
 */
class DoorsTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String DENIED = "denied";
  private static final MutationRules.Cluster CLUSTER =
      Reviews.cluster(
          Reviews.node("ours", "tranche.dev/replicas-per-gpu", "10", "nvidia.com/gpu.count", "2"),
          Reviews.node("dra", "tranche.dev/gpus-served-by", "dra"));

  /** The way, what a number counts, and then the replicas of: a number, a share, and both. */
  static Stream<Arguments> doors() {
    return Stream.of(
        row("{}", PlainRequests.GPUS, "10", "5", "5"),
        row("{}", PlainRequests.REPLICAS, "1", "5", DENIED),
        row("{'schedulerName':'tranche-scheduler'}", PlainRequests.GPUS, "10", "5", "5"),
        row("{'schedulerName':'tranche-scheduler'}", PlainRequests.REPLICAS, "1", "5", DENIED),
        row("{'schedulerName':'hub'}", PlainRequests.GPUS, "10", "", DENIED),
        row("{'schedulerName':'hub'}", PlainRequests.REPLICAS, "1", "", DENIED),
        row("{'schedulerName':'counts-replicas'}", PlainRequests.GPUS, "1", "", DENIED),
        row("{'schedulerName':'hub','nodeName':'ours'}", PlainRequests.GPUS, "10", "", DENIED),
        row("{'schedulerName':'hub','nodeName':'foreign'}", PlainRequests.GPUS, "1", "", DENIED),
        row("{'nodeName':'ours'}", PlainRequests.GPUS, "10", DENIED, DENIED),
        row("{'nodeName':'ours'}", PlainRequests.REPLICAS, "1", DENIED, DENIED),
        row("{'nodeName':'foreign'}", PlainRequests.GPUS, "1", DENIED, DENIED),
        row("{'schedulingGates':[{'name':'queue'}]}", PlainRequests.GPUS, "10", "5", "5"),
        row("{}", PlainRequests.UNCHANGED, "1", "5", "5"),
        row("{'schedulerName':'hub'}", PlainRequests.UNCHANGED, "1", "", DENIED),
        row("{'nodeName':'ours'}", PlainRequests.UNCHANGED, "10", DENIED, DENIED),
        row("{'os':{'name':'windows'}}", PlainRequests.GPUS, "1", DENIED, DENIED),
        row(
            "{'nodeSelector':{'tranche.dev/gpus-served-by':'dra'}}",
            PlainRequests.GPUS,
            "1",
            "5",
            "5"));
  }

  private static Arguments row(
      String spec, PlainRequests plain, String number, String share, String both) {
    return Arguments.of(spec, plain, number, share, both);
  }

  @ParameterizedTest
  @MethodSource("doors")
  void numberAndShare_meanTheSame_orThePodIsDenied(
      String spec, PlainRequests plain, String number, String share, String both) {
    var mutator = new PodMutator(rules(plain));
    assertThat(outcome(mutator, pod(spec, true, false))).isEqualTo(number);
    assertThat(outcome(mutator, pod(spec, false, true))).isEqualTo(share);
    assertThat(outcome(mutator, pod(spec, true, true))).isEqualTo(both);
  }

  /** The replicas of the container, nothing if it gets none, or that the pod is denied. */
  private static String outcome(PodMutator mutator, ObjectNode pod) {
    return switch (mutator.mutate(pod, CLUSTER)) {
      case Mutation.Denied denied -> DENIED;
      case Mutation admitted -> {
        JsonNode after = Reviews.apply(admitted, pod);
        assertThat(mutator.mutate(after, CLUSTER)).matches(Reviews::changesNothing);
        yield Reviews.replicas(after);
      }
    };
  }

  private static ObjectNode pod(String spec, boolean number, boolean share) {
    ObjectNode pod = share ? Reviews.annotated("gpu-fraction", "0.5") : Reviews.annotated();
    ((ObjectNode) pod.path("spec")).setAll((ObjectNode) Reviews.json(spec));
    if (number) {
      pod.withObject("/spec/containers/0/resources/limits").put(GPU, "1");
    }
    return pod;
  }

  private static MutationRules rules(PlainRequests plain) {
    return new MutationRules(
        List.of(GPU),
        10,
        "tranche-scheduler",
        "nvidia",
        Reviews.MEMORY,
        Set.of(),
        plain,
        Set.of("counts-replicas"));
  }
}
