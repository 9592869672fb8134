package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Three replicas of ten are another share than three of four: an assignment says which. */
final class CountedInTest extends LedgerRig {
  private static final PodFacts PLAIN = facts("p", null, false, Map.of());

  @Test
  void assignment_saysTheReplicasOfItsGpus() {
    report(NODE, Map.of());
    assertThat(counted(apply(new Event.BindStarted(PLAIN, NODE, on("gpu-0", 3))))).isEqualTo(10);
  }

  @Test
  void assignment_saysTheWebhooksStamp() {
    reported(4, List.of());
    var bind = new Event.BindStarted(pod("p", null), NODE, on("gpu-0", 3));
    assertThat(counted(apply(bind))).isEqualTo(10);
  }

  @Test
  void assignmentThatIsSentAgain_saysWhatItWasDecidedBy() {
    report(NODE, Map.of());
    apply(new Event.BindStarted(PLAIN, NODE, on("gpu-0", 3)));
    apply(new Event.BindDone("p"));
    assertThat(counted(reported(4, List.of()))).isEqualTo(10);
  }

  @Test
  void gpusThatDiffer_areCountedEachAsItIs() {
    var gpus = List.of(gpu("gpu-0", 0, 10), gpu("gpu-1", 1, 4));
    apply(reported(NODE, new NodeState(true, gpus, Map.of(), true, Map.of(), List.of())));
    assertThat(counted(apply(new Event.BindStarted(PLAIN, NODE, on("gpu-1", 3))))).isEqualTo(4);
  }

  @Test
  void bindingOfAnotherReplica_isCountedAsTheNodeEchoesIt() {
    reported(4, List.of(echo("p", "gpu-0")));
    assertThat(ledger.hold("p").orElseThrow().replicasPerGpu()).isEqualTo(10);
    apply(new Event.PodSeen(facts("p", NODE, false, Map.of(Names.GPU, "gpu-0"))));
    assertThat(ledger.hold("p").orElseThrow().replicasPerGpu()).isEqualTo(10);
  }

  private List<Decision> reported(int replicas, List<Assignment> echoes) {
    var gpus = List.of(gpu("gpu-0", 0, replicas), gpu("gpu-1", 1, replicas));
    var state = new NodeState(true, gpus, Map.of(), true, Map.of(), echoes);
    return apply(reported(NODE, state));
  }

  private static int counted(List<Decision> decisions) {
    return decisions.stream()
        .filter(Decision.Assign.class::isInstance)
        .map(Decision.Assign.class::cast)
        .map(assign -> assign.assignment().replicasPerGpu())
        .findFirst()
        .orElseThrow();
  }
}
