package dev.tranche.e2e.verify;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What is checked, and how long.
 *
 * @param nvml the library; empty: as the loader finds it
 * @param driverRoot where the driver is installed, normally /
 * @param mps start an MPS control daemon, too
 */
record VerifyOptions(Optional<Path> nvml, Path driverRoot, int seconds, boolean mps) {
  private static final List<String> LIBRARY_FOLDERS =
      List.of("usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu");

  /** Finds a library of a driver that is installed elsewhere than in /. */
  Optional<Path> library(String name) {
    return driverRoot.toString().equals("/")
        ? Optional.empty()
        : LIBRARY_FOLDERS.stream()
            .map(folder -> driverRoot.resolve(folder).resolve(name))
            .filter(Files::exists)
            .findFirst();
  }
}
