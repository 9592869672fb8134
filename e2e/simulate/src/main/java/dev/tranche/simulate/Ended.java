package dev.tranche.simulate;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * A program that has ended.
 *
 * @param said on both of its streams
 */
record Ended(int status, String said) {
  /** Runs a program, with this JDK for those in Java. */
  static Ended of(Path folder, List<String> command) throws IOException, InterruptedException {
    var builder =
        new ProcessBuilder(command)
            .directory(folder.toAbsolutePath().toFile())
            .redirectErrorStream(true);
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Process run = builder.start();
    String said = new String(run.getInputStream().readAllBytes(), UTF_8);
    return new Ended(run.waitFor(), said);
  }
}
