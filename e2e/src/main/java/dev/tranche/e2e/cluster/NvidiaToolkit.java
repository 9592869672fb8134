package dev.tranche.e2e.cluster;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/** NVIDIA's container toolkit, built when it is first asked for. */
public final class NvidiaToolkit {
  /** Where a node has it. */
  public static final String FOLDER = "/usr/local/nvidia/toolkit";

  private NvidiaToolkit() {}

  /** Returns the folder of this machine that a node needs at {@link #FOLDER}. */
  public static Path ofNodes() {
    var values = Scripts.values(Map.of(), "e2e/build.sh", "nvidia-toolkit");
    return Path.of(Objects.requireNonNull(values.get("nvidia-toolkit"))).resolve("node");
  }
}
