package dev.tranche.e2e.verify;

import java.nio.file.Path;
import java.util.Optional;

/**
 * What is checked, and how long.
 *
 * @param nvml the library; empty: as the loader finds it
 * @param driverRoot where the driver is installed, normally /
 * @param mps start an MPS control daemon, too
 */
record VerifyOptions(Optional<Path> nvml, Path driverRoot, int seconds, boolean mps) {}
