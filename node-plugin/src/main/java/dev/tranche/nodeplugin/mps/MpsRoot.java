package dev.tranche.nodeplugin.mps;

import java.nio.file.Path;

/**
 * The folder that daemons and clients share, laid out as NVIDIA's plugin does. It is
 * /run/nvidia/mps on the host and /mps in every container, so that the socket's path is the same
 * everywhere.
 */
public record MpsRoot(Path folder) {
  /** The path of the folder in containers. */
  public static final MpsRoot IN_CONTAINER = new MpsRoot(Path.of("/mps"));

  Path of(String resource) {
    return folder.resolve(resource);
  }

  public Path pipe(String resource) {
    return of(resource).resolve("pipe");
  }

  Path log(String resource) {
    return of(resource).resolve("log");
  }

  /** The memory file system that servers and clients exchange data in. */
  public Path shm() {
    return folder.resolve("shm");
  }

  /** The {@link MpsStatus}, rewritten every second by the process that runs the daemons. */
  Path status() {
    return folder.resolve(".status");
  }

  /** The original compute modes of the GPUs, while they have another one. */
  Path computeModes() {
    return folder.resolve(".compute-modes");
  }
}
