package dev.tranche.extender.placement;

import java.util.Comparator;

/** Decides which GPU is tried first for a share. */
@FunctionalInterface
public interface GpuOrder {
  Comparator<GpuView> forShare(int replicas);
}
