package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.watch.WatchedNode;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DraLabelsTest {
  private static final String SET =
      "{\"metadata\":{\"labels\":{\"tranche.dev/gpus-served-by\":%2$s},\"annotations\":{},\"resourceVersion\":\"%1$s\"}}";

  private Optional<Set<String>> served = Optional.of(Set.of("a"));
  private final ControllerRig rig = new ControllerRig();
  private final List<String> patches = rig.patches;
  private final DraLabels labels = new DraLabels(rig.context, () -> served);

  @BeforeEach
  void patchesFail() {
    rig.answer = Future.failedFuture("conflict");
  }

  private void see(String node, String version, String label, boolean advertises) {
    rig.seen(
        labels,
        new WatchedNode(
            node,
            version,
            new NodeFacts(node, Set.of(), "", advertises),
            new HostRequest(0, 0),
            label.isEmpty() ? Map.of() : Map.of(Names.SERVED_BY, label),
            "",
            "",
            Optional.empty(),
            Optional.empty()));
    labels.everyTenSeconds();
  }

  @Test
  void nodeOfADriver_isLabelledOnce_andOthersAreNot() {
    see("b", "1", "", false);
    assertThat(patches).isEmpty();
    see("a", "1", "", false);
    see("a", "2", "dra", false);
    assertThat(patches).containsExactly(SET.formatted("1", "\"dra\""));
    rig.gone(labels, "a");
    labels.everyTenSeconds();
    assertThat(patches).hasSize(1);
  }

  @Test
  void label_goesWhenADevicePluginServesTheNode_andWhenTheSlicesAreGone() {
    see("a", "1", "dra", true);
    assertThat(patches).containsExactly(SET.formatted("1", "null"));
    served = Optional.of(Set.of());
    see("a", "2", "dra", false);
    assertThat(patches).hasSize(2).last().isEqualTo(SET.formatted("2", "null"));
  }

  @Test
  void nothingIsWritten_byAnotherReplica_orBeforeTheSlicesAreListed() {
    rig.deciding = false;
    see("a", "1", "", false);
    rig.deciding = true;
    served = Optional.empty();
    see("a", "1", "dra", false);
    assertThat(patches).isEmpty();
  }

  @Test
  void refusedPatch_isRetriedAtTheNextTick() {
    see("a", "1", "", false);
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
  }
}
