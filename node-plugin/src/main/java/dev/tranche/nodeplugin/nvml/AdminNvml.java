package dev.tranche.nodeplugin.nvml;

/** NVML with the calls that change GPUs, for the keeper of the MPS control daemons. */
public interface AdminNvml extends Nvml {
  /** The compute mode in which any number of processes take turns on the GPU. */
  int COMPUTE_MODE_DEFAULT = 0;

  /**
   * The compute mode for one process. With MPS that is the MPS server, so no process can bypass it.
   */
  int COMPUTE_MODE_EXCLUSIVE_PROCESS = 3;

  /** How many processes may use the GPU at once, as NVML's number. */
  int computeMode(int index);

  /** Sets the compute mode; requires root. */
  void computeMode(int index, int mode);
}
