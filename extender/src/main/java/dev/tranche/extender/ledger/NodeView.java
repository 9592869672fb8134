package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.GpuView;
import java.util.List;

/**
 * A snapshot of a node's GPUs and of what pods hold on them.
 *
 * @param gpus as the last report has them; empty before the first
 */
public record NodeView(String name, Availability availability, List<Gpu> gpus) {
  public enum Availability {
    AVAILABLE,
    /** No live stream, or no report on it yet. */
    SILENT,
    /** Draining, or not registered with the kubelet. */
    NOT_SERVING,
    /** In backoff, since it does not acknowledge assignments. */
    NOT_ACKNOWLEDGING
  }

  /**
   * @param heldReplicas held by pods whose GPU is known. Replicas of an earlier config are not
   *     included; their part of the GPU is withheld
   * @param unattributedReplicas that may be held here by pods whose GPU is not known, or by pods
   *     that only the kubelet knows
   * @param heldClients containers that are on it, or may be
   * @param young holds whose pods may have begun their work too late to be measured, or not yet
   */
  public record Gpu(
      GpuFacts facts,
      boolean cordoned,
      int heldReplicas,
      int unattributedReplicas,
      int heldClients,
      List<Young> young) {
    /** Returns the replicas that are certainly free. */
    public int freeReplicas() {
      int given = facts.withheldReplicas() + heldReplicas + unattributedReplicas;
      return Math.max(0, facts.replicas() - given);
    }

    /** Returns the free MPS client slots; {@link GpuView#UNLIMITED} without a limit. */
    public int freeClients() {
      return facts.clientsMax() == 0
          ? GpuView.UNLIMITED
          : Math.max(0, facts.clientsMax() - heldClients);
    }
  }

  /**
   * @param pod {@code namespace/name}
   * @param sinceMs when the hold began
   */
  public record Young(String pod, int replicas, long sinceMs) {}
}
