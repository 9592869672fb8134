package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.GpuView;
import java.util.List;

/**
 * A node's GPUs and who takes what of them, at one moment.
 *
 * @param gpus as the last report has them; empty before the first
 */
public record NodeView(String name, Availability availability, List<Gpu> gpus) {
  public enum Availability {
    AVAILABLE,
    /** No live stream, or none that has reported. */
    SILENT,
    /** Draining, or not registered with the kubelet. */
    NOT_SERVING
  }

  /**
   * @param heldReplicas by pods whose GPU is known; those of an earlier config are not among them,
   *     but what they are of the GPU now is withheld
   * @param strayReplicas that may be here: by pods whose GPU is unknown, and by pods that only the
   *     kubelet knows
   * @param heldClients containers that are on it, or may be
   * @param young holds that may have begun their work too late to be measured, or not yet
   */
  public record Gpu(
      GpuFacts facts,
      boolean cordoned,
      int heldReplicas,
      int strayReplicas,
      int heldClients,
      List<Young> young) {
    /** Replicas that surely are free. */
    public int freeReplicas() {
      int given = facts.withheldReplicas() + heldReplicas + strayReplicas;
      return Math.max(0, facts.replicas() - given);
    }

    /** MPS client slots; {@link GpuView#UNLIMITED} without a limit. */
    public int freeClients() {
      return facts.clientsMax() == 0
          ? GpuView.UNLIMITED
          : Math.max(0, facts.clientsMax() - heldClients);
    }
  }

  /**
   * @param pod namespace and name
   * @param sinceMs when the hold began
   */
  public record Young(String pod, int replicas, long sinceMs) {}
}
