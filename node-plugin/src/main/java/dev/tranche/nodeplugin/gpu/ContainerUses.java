package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import java.util.List;
import java.util.Optional;

/** Finds the containers of a GPU's processes. Confined to the thread that calls NVML. */
public interface ContainerUses {
  /** Returns the use of one GPU by container; in sum no more than the reading of the same GPU. */
  List<ContainerUse> of(List<GpuProcess> processes, GpuReading reading);

  /** Called when every GPU has been sampled. */
  void sampled();

  /** Returns why the pods of processes cannot be found; empty if they can. */
  Optional<String> problem();
}
