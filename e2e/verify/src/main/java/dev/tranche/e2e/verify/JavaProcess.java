package dev.tranche.e2e.verify;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How a check starts another Java program of the same class path. */
final class JavaProcess {
  private JavaProcess() {}

  /** Returns a command to which the main class and its arguments are added. */
  static List<String> command(String... flags) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                // It would leave a file in the temporary folder.
                "-XX:-UsePerfData",
                "-cp",
                System.getProperty("java.class.path")));
    // Where the one-file command has JNA's native library.
    System.getProperties().stringPropertyNames().stream()
        .filter(name -> name.startsWith("jna."))
        .sorted()
        .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
    command.addAll(List.of(flags));
    return command;
  }
}
