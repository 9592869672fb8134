package dev.tranche.nodeplugin.nvml;

import java.util.List;

/** Whether a device is a GPU that MIG has cut up, or a part of one. */
public sealed interface Mig {
  Mig OFF = new Off();
  Mig CUT = new Cut();

  /** A GPU in one piece. */
  record Off() implements Mig {}

  /** A GPU with MIG on: only its parts can be used, if it has any. */
  record Cut() implements Mig {}

  /**
   * A MIG device.
   *
   * @param index among those of its GPU, from 0
   * @param parentUuid of its GPU
   * @param profile NVIDIA's name for its size: {@code 1g.5gb}
   * @param capNodes device nodes that a container needs beside the GPU's; empty if the kernel does
   *     not tell them
   */
  record Part(
      int index,
      String parentUuid,
      String profile,
      int gpuInstance,
      int computeInstance,
      List<String> capNodes)
      implements Mig {
    public Part {
      capNodes = List.copyOf(capNodes);
    }
  }
}
