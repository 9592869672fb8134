package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.preempt.Budget.Requirement;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.process.Heap;
import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What tenants write on pods and budgets, and what is kept of it. */
final class KeptPodsTest extends LedgerRig {
  private static final int HOSTILE = 100_000;

  /** Less than a quarter of the heap that the chart gives the extender. */
  private static final long HEAP_BYTES_MAX = 48L << 20;

  @Test
  void beyondTheBound_theNewestIsDropped() {
    for (int i = 0; i <= KeptPods.WAITING_MAX; i++) {
      seen("a", "p" + i, null);
    }
    assertThat(ledger.pods()).hasSize(KeptPods.WAITING_MAX);
    assertThat(ledger.droppedPods()).isEqualTo(1);
    assertThat(known("p0") && known("p" + (KeptPods.WAITING_MAX - 1))).isTrue();
    assertThat(known("p" + KeptPods.WAITING_MAX)).isFalse();
    // What goes makes room for what comes.
    apply(new Event.PodGone("p0", "a/p0"));
    seen("a", "next", null);
    assertThat(known("next")).isTrue();
  }

  @Test
  void whatHoldsAGpu_isNeverDropped_andADroppedPodIsStillPlaced() {
    report(NODE, Map.of());
    PodFacts held = pod("held", null);
    apply(new Event.PodSeen(held));
    apply(new Event.Reserve(held, NODE, on("gpu-0", 3)));
    apply(new Event.PodSeen(pod("bound", NODE, "gpu-1")));
    for (int i = 0; i < KeptPods.WAITING_MAX + 10; i++) {
      seen("ns", "p" + i, null);
    }
    assertThat(known("held") && known("bound")).isTrue();
    PodFacts dropped = waiting("ns", "p" + KeptPods.WAITING_MAX);
    assertThat(known(dropped.uid())).isFalse();
    apply(new Event.BindStarted(dropped, NODE, on("gpu-0", 3)));
    apply(new Event.BindDone(dropped.uid()));
    apply(new Event.PodSeen(dropped.on(NODE)));
    assertThat(known(dropped.uid())).isTrue();
    assertThat(free("gpu-0")).isEqualTo(4);
  }

  @Test
  void aDroppedPodThatHasEnded_isNotTakenForRunningByALateEvent() {
    report(NODE, Map.of());
    for (int i = 0; i <= KeptPods.WAITING_MAX; i++) {
      apply(new Event.PodSeen(facts("p" + i, NODE, true, Map.of())));
    }
    String dropped = "p" + KeptPods.WAITING_MAX;
    assertThat(known(dropped)).isFalse();
    apply(new Event.PodSeen(pod(dropped, NODE, "gpu-0")));
    assertThat(free("gpu-0")).isEqualTo(10);
  }

  /**
   * 100,000 minimal pods, 800 with a note of 240 KB, 90 on a node with 7,000 labels each, and 100
   * budgets of 7,000 keys.
   */
  @Test
  void whatTenantsWrite_takesLittleOfTheHeap() {
    var budgets = new BudgetStore();
    report(NODE, Map.of());
    long before = Heap.usedBytes();
    for (int i = 0; i < HOSTILE; i++) {
      seen("ns" + i % 7, "minimal-" + i, null);
    }
    for (int i = 0; i < 800; i++) {
      String note = String.valueOf(i).repeat(80_000);
      apply(
          new Event.PodSeen(
              draft("noted", "n" + i, null).annotation("tranche.dev/note", note).facts()));
    }
    for (int i = 0; i < 90; i++) {
      TestPod labelled = draft("labelled", "l" + i, NODE);
      for (int label = 0; label < 7_000; label++) {
        labelled.label("a-long-key-of-a-label.example/" + i + "-" + label, "value-" + label);
      }
      apply(new Event.PodSeen(labelled.facts()));
    }
    for (int i = 0; i < 100; i++) {
      var keys = new ArrayList<Requirement>();
      for (int key = 0; key < 7_000; key++) {
        keys.add(new Requirement("a-long-key.example/" + i + "-" + key, "In", Set.of("v" + key)));
      }
      budgets.put(new Budget("ns" + i % 7, "b" + i, keys, 1, Set.of()));
    }
    long kept = Heap.usedBytes() - before;
    assertThat(kept).isLessThan(HEAP_BYTES_MAX);
    assertThat(ledger.pods()).hasSizeLessThanOrEqualTo(KeptPods.WAITING_MAX + 90);
  }

  /**
   * A tenant writes {@code spec.nodeName}, each time another one, keeps pods that have failed, or
   * deletes a thousand of them each second.
   */
  @Test
  void podsOnNodesThatAreNot_andEndedPods_takeLittleOfTheHeap() {
    report(NODE, Map.of());
    long before = Heap.usedBytes();
    for (int i = 0; i < HOSTILE; i++) {
      seen("nowhere", "n" + i, "no-node-of-this-name-" + i + ".example");
    }
    assertThat(ledger.nodes()).hasSizeLessThanOrEqualTo(1 + KeptPods.WAITING_MAX);
    for (int i = 0; i < HOSTILE; i++) {
      apply(new Event.PodSeen(failed("failed", "f" + i)));
    }
    for (int i = 0; i < HOSTILE; i++) {
      PodFacts deleted = failed("deleted", "d" + i);
      apply(new Event.PodSeen(deleted));
      apply(new Event.PodGone(deleted.uid(), deleted.key()));
      nowMs++;
      if (i % 1_000 == 0) {
        apply(new Event.Tick());
      }
    }
    long kept = Heap.usedBytes() - before;
    assertThat(kept).isLessThan(HEAP_BYTES_MAX);
    assertThat(ledger.pods()).hasSizeLessThanOrEqualTo(KeptPods.WAITING_MAX);
    assertThat(ledger.droppedPods()).isGreaterThan(HOSTILE);
  }

  /** Its node may be known later, and a pod of others goes first. */
  @Test
  void podOnANodeThatIsKnownLater_isKept_andHoldsItsGpu() {
    apply(new Event.PodSeen(pod("early", NODE, "gpu-0")));
    for (int i = 0; i < KeptPods.WAITING_MAX + 10; i++) {
      seen("nowhere", "n" + i, "no-node-" + i);
    }
    assertThat(known("early")).isTrue();
    apply(new Event.NodeSeen(new NodeFacts(NODE, Set.of(), "", true)));
    report(NODE, Map.of());
    // Now it is not counted among those that may go, though it is the newest of its namespace.
    for (int i = 0; i < 3 * KeptPods.WAITING_MAX; i++) {
      seen("ns", "m" + i, "no-node-" + i);
    }
    assertThat(known("early")).isTrue();
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  @Test
  void podWhoseNodeIsKnownLater_makesRoomForAnother() {
    for (boolean seenByReport : new boolean[] {false, true}) {
      String node = "node-" + seenByReport;
      seen("early", "early-" + seenByReport, node);
      for (int i = 0; i < KeptPods.WAITING_MAX; i++) {
        seen("a", "p" + i, null);
      }
      if (seenByReport) {
        report(node, Map.of());
      } else {
        apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", true)));
      }
      seen("a", "next-" + seenByReport, null);
      assertThat(known("next-" + seenByReport)).as(node).isTrue();
      apply(new Event.PodGone("next-" + seenByReport, "a/next-" + seenByReport));
    }
  }

  @Test
  void droppedPodOnAnUnknownNode_isRecordedWhenItsNodeIsKnown() {
    for (int i = 0; i <= 2 * KeptPods.WAITING_MAX; i++) {
      seen("ns", "n" + i, "no-node-" + i);
    }
    String last = "n" + 2 * KeptPods.WAITING_MAX;
    assertThat(known(last)).isFalse();
    report(NODE, Map.of());
    // The kubelet changes the pod's status.
    apply(new Event.PodSeen(pod(last, NODE, "gpu-0")));
    assertThat(free("gpu-0")).isEqualTo(7);
  }

  /**
   * A tenant writes {@code spec.nodeName} of a node whose kubelet is dead, so that nobody ends
   * them.
   */
  @Test
  void podsOnANodeBeyondItsBound_areNotKept_untilTheKubeletListsThem() {
    apply(new Event.NodeSeen(new NodeFacts(NODE, Set.of(), "", true)));
    report(NODE, Map.of());
    PodFacts held = pod("held", null);
    apply(new Event.Reserve(held, NODE, on("gpu-0", 3)));
    long before = Heap.usedBytes();
    for (int i = 0; i < HOSTILE; i++) {
      seen("hostile", "p" + i, NODE);
    }
    assertThat(Heap.usedBytes() - before).isLessThan(HEAP_BYTES_MAX);
    assertThat(ledger.holds(NODE)).hasSize(KeptPods.ON_NODE_MAX);
    // What was placed there is kept all the same.
    apply(new Event.BindStarted(held, NODE, on("gpu-0", 3)));
    apply(new Event.PodSeen(held.on(NODE)));
    assertThat(known("held")).isTrue();
    assertThat(free("gpu-0") + free("gpu-1")).isZero();
    for (int i = 0; i < HOSTILE - 1; i++) {
      apply(new Event.PodGone("p" + i, "hostile/p" + i));
    }
    assertThat(ledger.holds(NODE)).hasSize(1);
    String last = "hostile/p" + (HOSTILE - 1);
    report(NODE, Map.of(last, Map.of("main", Map.of("gpu-1", 3))));
    assertThat(free("gpu-0") + free("gpu-1")).isEqualTo(14);
  }

  @Test
  void podBeyondTheBound_thatChangesOnceThereIsRoom_isKept() {
    report(NODE, Map.of());
    for (int i = 0; i <= KeptPods.ON_NODE_MAX; i++) {
      apply(new Event.PodSeen(pod("p" + i, NODE, "gpu-0")));
    }
    String last = "p" + KeptPods.ON_NODE_MAX;
    assertThat(known(last)).isFalse();
    for (int i = 0; i < KeptPods.ON_NODE_MAX; i++) {
      apply(new Event.PodGone("p" + i, "ns/p" + i));
    }
    apply(new Event.PodSeen(pod(last, NODE, "gpu-0")));
    assertThat(known(last)).isTrue();
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  private static PodFacts failed(String namespace, String name) {
    return draft(namespace, name, NODE).phase("Failed").facts();
  }

  private boolean known(String uid) {
    return ledger.pod(uid).isPresent();
  }

  private void seen(String namespace, String name, @Nullable String node) {
    apply(new Event.PodSeen(draft(namespace, name, node).facts()));
  }

  private static PodFacts waiting(String namespace, String name) {
    return draft(namespace, name, null).facts();
  }

  private static TestPod draft(String namespace, String name, @Nullable String node) {
    return new TestPod(namespace, name, node).container("main", "3");
  }
}
