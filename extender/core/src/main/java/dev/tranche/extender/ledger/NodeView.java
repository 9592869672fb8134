package dev.tranche.extender.ledger;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.placement.GpuView;
import java.util.List;

/**
 * A snapshot of a node's GPUs and of what pods hold on them.
 *
 * @param gpus as the last report has them; empty before the first
 */
public record NodeView(Availability availability, List<Gpu> gpus) {
  public enum Availability {
    AVAILABLE,
    /** No live stream, or no report on it yet. */
    SILENT,
    /** Draining, or not registered with the kubelet. */
    NOT_SERVING,
    /** In backoff, since it does not acknowledge assignments. */
    NOT_ACKNOWLEDGING,
    /** Could not be read because of a bug. */
    FAILED
  }

  /**
   * @param heldReplicas held by pods whose GPU is known, in replicas of the GPU's present R
   * @param earlier held as replicas of another R, exact
   * @param withheldReplicas replicas that no pod can get because of {@code earlier}, or because the
   *     node still withholds them
   * @param unattributedReplicas that may be held here by pods whose GPU is not known, or by pods
   *     that only the kubelet knows
   * @param heldClients containers that are on it, or may be
   * @param young holds whose pods may have begun their work too late to be measured, or not yet
   */
  public record Gpu(
      GpuFacts facts,
      boolean cordoned,
      int heldReplicas,
      GpuPart earlier,
      int withheldReplicas,
      int unattributedReplicas,
      int heldClients,
      List<Young> young) {
    /** Returns the replicas that are certainly free. */
    public int freeReplicas() {
      int given = withheldReplicas + heldReplicas + unattributedReplicas;
      return Math.max(0, facts.replicas() - given);
    }

    /** Returns the part that is granted, at most the whole; not rounded up to replicas. */
    public double grantedShare() {
      return Math.min(1, granted().value());
    }

    /** Returns the memory that is granted, at most all of it. */
    public long grantedBytes() {
      long usable = facts.memoryUsableBytes();
      return earlier.isNone()
          ? usable / facts.replicas() * (facts.replicas() - freeReplicas())
          : Math.min(usable, granted().of(usable));
    }

    private GpuPart granted() {
      int replicas = facts.replicas();
      int others = Math.max(0, withheldReplicas - earlier.replicas(replicas));
      return earlier.plus(GpuPart.of(heldReplicas + unattributedReplicas + others, replicas));
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
   * @param share its part of the GPU
   * @param sinceMs when the hold began
   */
  public record Young(String pod, double share, long sinceMs) {}
}
