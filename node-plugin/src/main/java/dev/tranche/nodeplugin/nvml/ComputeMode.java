package dev.tranche.nodeplugin.nvml;

/** NVML's numbers of the compute modes. */
public final class ComputeMode {
  /** Any number of processes, in turns. */
  public static final int DEFAULT = 0;

  /** One process: with MPS its server, so that no process can go around it. */
  public static final int EXCLUSIVE_PROCESS = 3;

  private ComputeMode() {}
}
