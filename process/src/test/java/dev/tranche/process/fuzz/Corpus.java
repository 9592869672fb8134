package dev.tranche.process.fuzz;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Inputs of a fuzz target, in the folder {@code src/test/corpus/TARGET} of its module, those that
 * are no text in base64.
 */
public final class Corpus {
  private static final int CHANGED_OF_EACH = 50;
  private static final byte[] MARKS = "{}[],:\"\\/%&=-0.9 \n\0".getBytes(UTF_8);

  private Corpus() {}

  /** Runs a target on each input, and on inputs that differ from it in some bytes. */
  public static void replay(Class<?> fuzzTarget, Target target) throws Exception {
    long[] seeds = Seeds.of(CHANGED_OF_EACH);
    for (Path file : files(fuzzTarget)) {
      byte[] input = read(file);
      run(target, input, file);
      for (long seed : seeds) {
        run(target, changed(input, Seeds.random(seed)), file);
      }
    }
  }

  /** What reads the input; it may throw nothing. */
  @FunctionalInterface
  public interface Target {
    void read(byte[] input) throws Exception;
  }

  private static void run(Target target, byte[] input, Path file) {
    try {
      target.read(input);
    } catch (Exception | AssertionError failure) {
      throw new AssertionError(
          "%s, or this that was made of it: %s"
              .formatted(file, Base64.getEncoder().encodeToString(input)),
          failure);
    }
  }

  private static byte[] read(Path file) throws IOException {
    return file.toString().endsWith(".base64")
        ? Base64.getMimeDecoder().decode(Files.readAllBytes(file))
        : Files.readAllBytes(file);
  }

  private static List<Path> files(Class<?> fuzzTarget) throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/test/corpus", fuzzTarget.getSimpleName()))) {
      List<Path> sorted = files.sorted().toList();
      if (sorted.isEmpty()) {
        throw new AssertionError("no corpus of " + fuzzTarget);
      }
      return sorted;
    }
  }

  private static byte[] changed(byte[] input, RandomGenerator random) {
    byte[] changed = Arrays.copyOf(input, Math.max(1, input.length));
    for (int hits = 0; hits <= random.nextInt(4); hits++) {
      int at = random.nextInt(changed.length);
      switch (random.nextInt(4)) {
        case 0 -> changed[at] = MARKS[random.nextInt(MARKS.length)];
        case 1 -> changed[at] ^= (byte) (1 << random.nextInt(8));
        case 2 -> changed = Arrays.copyOf(changed, Math.max(1, at));
        default -> {
          int from = random.nextInt(changed.length);
          int length = Math.min(16, changed.length - Math.max(from, at));
          System.arraycopy(changed, from, changed, at, length);
        }
      }
    }
    return changed;
  }
}
