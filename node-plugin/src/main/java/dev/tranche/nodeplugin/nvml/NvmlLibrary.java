package dev.tranche.nodeplugin.nvml;

import com.sun.jna.NativeLibrary;
import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Finds the driver's NVML: where the loader looks, else under the mounted driver root. */
final class NvmlLibrary {
  private static final String NAME = "libnvidia-ml.so.1";

  private NvmlLibrary() {}

  static NativeLibrary load(Path driverRoot) {
    try {
      return NativeLibrary.getInstance(NAME);
    } catch (UnsatisfiedLinkError notInstalledHere) {
      return loadUnder(driverRoot, notInstalledHere);
    }
  }

  private static NativeLibrary loadUnder(Path driverRoot, UnsatisfiedLinkError byName) {
    List<String> folders = DriverFolders.find(driverRoot);
    for (String folder : folders) {
      Path file = DriverFolders.resolve(driverRoot, driverRoot.resolve(folder).resolve(NAME));
      if (Files.exists(file)) {
        return open(file);
      }
      FileAccess.denied(file)
          .ifPresent(
              sentence -> {
                throw new NvmlException(NvmlCode.LIBRARY_NOT_FOUND, sentence);
              });
    }
    throw new NvmlException(
        NvmlCode.LIBRARY_NOT_FOUND,
        "%s is neither known to the loader (%s) nor in %s of %s%s"
            .formatted(
                NAME,
                String.valueOf(byName.getMessage()).lines().findFirst().orElse(""),
                String.join(", ", folders),
                driverRoot,
                NvmlCode.advice(NvmlCode.LIBRARY_NOT_FOUND)));
  }

  private static NativeLibrary open(Path file) {
    try {
      return NativeLibrary.getInstance(file.toString());
    } catch (UnsatisfiedLinkError e) {
      throw new NvmlException(
          NvmlCode.LIBRARY_NOT_FOUND,
          "%s cannot be loaded: %s; check that it is the driver's, whole and for the architecture"
                  .formatted(file, loadersReason(e))
              + " of this image (file -L), and that the driver's root is mounted as a whole");
    }
  }

  // JNA's message has a headline, the loader's reason for each attempt, and the class path.
  private static String loadersReason(UnsatisfiedLinkError e) {
    return String.valueOf(e.getMessage())
        .lines()
        .map(String::strip)
        .filter(line -> !line.startsWith("Unable to load library"))
        .findFirst()
        .orElse("the loader does not say why");
  }
}
