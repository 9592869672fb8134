package dev.tranche.nodeplugin.nvml;

/** NVML for whoever changes GPUs, as the keeper of the MPS control daemons does. */
public interface AdminNvml extends Nvml {
  /** The compute mode of any number of processes, in turns. */
  int COMPUTE_MODE_DEFAULT = 0;

  /** One process: with MPS its server, so that no process can go around it. */
  int COMPUTE_MODE_EXCLUSIVE_PROCESS = 3;

  /** How many processes may use the GPU at once, as NVML's number. */
  int computeMode(int index);

  /** Sets it, as root only. */
  void computeMode(int index, int mode);
}
