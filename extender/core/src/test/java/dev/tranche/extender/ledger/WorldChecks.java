package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Objects;

/** What must be so in a {@link World}. */
final class WorldChecks {
  private final World world;

  WorldChecks(World world) {
    this.world = world;
  }

  void neverOver() {
    if (world.strangers) {
      return;
    }
    for (World.Node node : world.nodes) {
      assertThat(world.leader.ledger.view(node.name, this::matters, world.nowMs).gpus())
          .as(() -> counts(world.leader, node, "its GPUs"))
          .allMatch(gpu -> gpu.heldReplicas() >= 0 && gpu.heldReplicas() <= gpu.facts().replicas());
    }
  }

  /**
   * A new leader may count for a while what the old one began and gave up, and more of a split
   * share than is on each GPU.
   */
  private boolean matters(Hold hold) {
    boolean known = hold.exact() || hold.confirmed();
    return known && hold.stage() != Hold.Stage.TENTATIVE;
  }

  /**
   * Both replicas count on every GPU what its kubelet has given away, and nothing is left to do.
   */
  void equalsTheReadBack() {
    for (World.Node node : world.nodes) {
      assertThat(node.kept.keySet())
          .as("%s: kept on %s", world.seed, node.name)
          .allMatch(uid -> !Objects.requireNonNull(world.pods.get(uid)).admitted);
    }
    for (World.Replica replica : List.of(world.leader, world.standby)) {
      for (World.Node node : world.nodes) {
        for (NodeView.Gpu gpu : replica.ledger.view(node.name, h -> true, world.nowMs).gpus()) {
          String uuid = gpu.facts().uuid();
          assertThat(gpu.heldReplicas() + gpu.unattributedReplicas())
              .as(() -> counts(replica, node, uuid))
              .isEqualTo(node.used(uuid) + awaited(node, uuid));
        }
      }
    }
  }

  private String counts(World.Replica replica, World.Node node, String uuid) {
    return "%s: %s counts on %s\nholds %s\npods %s\nlisted %s\nkept %s"
        .formatted(
            world.seed,
            replica == world.leader ? "leader" : "standby",
            uuid,
            replica.ledger.holds(node.name),
            world.pods.values().stream()
                .filter(p -> node.name.equals(p.facts.node()) && !p.facts.ended())
                .map(p -> p.facts + " really " + p.real)
                .toList(),
            node.listed,
            node.kept);
  }

  /** Of pods that are bound and that the kubelet has not admitted yet. */
  private int awaited(World.Node node, String uuid) {
    return world.pods.values().stream()
        .filter(p -> node.name.equals(p.facts.node()) && !p.admitted && !p.facts.ended())
        .map(p -> node.kept.get(p.facts.uid()))
        .filter(Objects::nonNull)
        .mapToInt(a -> a.placement().held().getOrDefault(uuid, 0))
        .sum();
  }

  void nothingIsLeft() {
    for (World.Replica replica : List.of(world.leader, world.standby)) {
      for (World.Node node : world.nodes) {
        assertThat(replica.ledger.holds(node.name)).as("%s: leak", world.seed).isEmpty();
        assertThat(node.kept).as("%s: kept on %s", world.seed, node.name).isEmpty();
      }
      assertThat(replica.ledger.pods()).as("%s: pods", world.seed).isEmpty();
    }
  }
}
