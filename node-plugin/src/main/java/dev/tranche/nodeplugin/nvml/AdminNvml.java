package dev.tranche.nodeplugin.nvml;

/** NVML for whoever changes GPUs, as the keeper of the MPS control daemons does. */
public interface AdminNvml extends Nvml {
  /** How many processes may use the GPU at once; NVML's number, see {@link ComputeMode}. */
  int computeMode(int index);

  /** Sets it, as root only. */
  void computeMode(int index, int mode);
}
