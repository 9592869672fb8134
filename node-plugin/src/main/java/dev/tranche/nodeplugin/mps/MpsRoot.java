package dev.tranche.nodeplugin.mps;

import java.nio.file.Path;

/**
 * The folder that daemons and clients share, laid out as NVIDIA's plugin does. It is
 * /run/nvidia/mps on the host and /mps in every container, so that the socket's path is the same
 * everywhere.
 */
public record MpsRoot(Path folder) {
  /** In containers. */
  public static final MpsRoot IN_CONTAINER = new MpsRoot(Path.of("/mps"));

  Path of(String resource) {
    return folder.resolve(resource);
  }

  Path pipe(String resource) {
    return of(resource).resolve("pipe");
  }

  Path log(String resource) {
    return of(resource).resolve("log");
  }

  /** There while the daemon of this resource has its limits. */
  Path started(String resource) {
    return of(resource).resolve(".started");
  }

  /** The memory file system that servers and clients exchange data in. */
  Path shm() {
    return folder.resolve("shm");
  }

  /** There while all daemons have their limits. */
  Path ready() {
    return folder.resolve(".ready");
  }

  /** Written anew every second by whoever runs the daemons: {@link MpsStatus}. */
  Path status() {
    return folder.resolve(".status");
  }

  /** The compute modes that the GPUs had before, while they have another. */
  Path computeModes() {
    return folder.resolve(".compute-modes");
  }
}
