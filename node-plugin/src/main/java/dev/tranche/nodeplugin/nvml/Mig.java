package dev.tranche.nodeplugin.nvml;

import java.util.List;

/** The MIG state of a device: a GPU with MIG off, a GPU with MIG on, or a MIG device. */
public sealed interface Mig {
  Mig OFF = new Off();
  Mig ON = new On();

  /** A GPU with MIG off. */
  record Off() implements Mig {}

  /** A GPU with MIG on: only its MIG devices can be used, if it has any. */
  record On() implements Mig {}

  /**
   * A MIG device.
   *
   * @param index among those of its GPU, from 0
   * @param parentUuid of its GPU
   * @param profile NVIDIA's name for its size: {@code 1g.5gb}
   * @param capNodes device nodes that a container needs beside the GPU's; empty if the kernel does
   *     not tell them
   */
  record Device(
      int index,
      String parentUuid,
      String profile,
      int gpuInstance,
      int computeInstance,
      List<String> capNodes)
      implements Mig {}
}
