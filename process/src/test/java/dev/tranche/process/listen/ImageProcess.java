package dev.tranche.process.listen;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A process with the options of the image and the test's class path. It writes lines, each with its
 * kind as the first word, and one more for each byte that it reads.
 */
public final class ImageProcess implements AutoCloseable {
  private static final long NOISE_BYTES = 16 << 10;

  private final Process process;
  private final BufferedReader output;

  private ImageProcess(Process process) {
    this.process = process;
    this.output = process.inputReader();
  }

  /**
   * @param options the file with the JVM's options in deploy/image
   * @param command more options, the class and its arguments
   */
  public static ImageProcess start(
      String options, Map<String, String> environment, String... command) throws IOException {
    var line = new ArrayList<String>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.add("@" + Path.of("../deploy/image", options).toAbsolutePath());
    line.addAll(List.of("-cp", System.getProperty("java.class.path")));
    line.addAll(List.of(command));
    var builder = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().putAll(environment);
    return new ImageProcess(builder.start());
  }

  /** Returns the numbers of the next line of a kind. */
  public long[] line(String kind) throws IOException {
    String line = output.readLine();
    while (line != null && !line.startsWith(kind + " ")) {
      line = output.readLine();
    }
    String[] words = Objects.requireNonNull(line, "the process has ended").split(" ");
    return List.of(words).stream().skip(1).mapToLong(Long::parseLong).toArray();
  }

  /** Asks for a line of a kind. */
  public long[] ask(String kind) throws IOException {
    process.getOutputStream().write('\n');
    process.getOutputStream().flush();
    return line(kind);
  }

  /**
   * Returns the used heap once what was sent has been read: the least of the last readings. What
   * the process does by itself adds up to 400 KiB to some of them.
   *
   * @param kind of a line whose first number is the used heap after a garbage collection
   */
  public long settledHeap(String kind) throws IOException, InterruptedException {
    long least = ask(kind)[0];
    for (int since = 0; since < 12; since++) {
      Thread.sleep(50);
      long now = ask(kind)[0];
      if (now < least - NOISE_BYTES) {
        since = 0;
      }
      least = Math.min(least, now);
    }
    return least;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
