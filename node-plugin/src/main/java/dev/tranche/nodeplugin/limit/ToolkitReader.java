package dev.tranche.nodeplugin.limit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the programs and the config of NVIDIA's container toolkit. A program has the hook if its
 * name is among its bytes: running programs of the host would need its libraries. Confined to one
 * thread.
 */
final class ToolkitReader {
  /** The programs have 10 to 20 MiB. */
  static final int PROGRAM_BYTES_MAX = 64 << 20;

  private static final int CONFIG_BYTES_MAX = 64 << 10;
  private static final int CHUNK_BYTES = 64 << 10;

  /** The installer of NVIDIA's container puts a script in front of each program. */
  private static final String WRAPPED = ".real";

  private static final Pattern SECTION =
      Pattern.compile("(?ms)^\\s*\\[nvidia-container-runtime\\]\\s*$(.*?)(?=^\\s*\\[|\\z)");
  private static final Pattern MODE = Pattern.compile("(?m)^\\s*mode\\s*=\\s*\"([a-z-]+)\"");

  private final Path folder;
  private final List<Path> configs;
  private final Map<Path, Program> programs = new HashMap<>();

  /** A program as it was last read. */
  private record Program(
      long size, long modifiedMs, @Nullable Object key, boolean script, boolean hasHook) {
    boolean is(BasicFileAttributes file) {
      return size == file.size()
          && modifiedMs == file.lastModifiedTime().toMillis()
          && Objects.equals(key, file.fileKey());
    }
  }

  /**
   * @param folder of its programs, as mounted here
   * @param runtimeConfig of the runtime's config file, as mounted here
   */
  ToolkitReader(Path folder, Path runtimeConfig) {
    this.folder = folder;
    this.configs =
        List.of(
            runtimeConfig.resolve("config.toml"),
            folder.resolve(".config/nvidia-container-runtime/config.toml"));
  }

  Toolkit read() {
    Set<String> present = new HashSet<>();
    Set<String> withHook = new HashSet<>();
    for (String name : Toolkit.PROGRAMS) {
      Program program = program(folder.resolve(name));
      // Beside a program that is no script, it is what an older installation has left.
      if (program != null && program.script()) {
        program = program(folder.resolve(name + WRAPPED));
      }
      if (program != null) {
        present.add(name);
      }
      if (program != null && program.hasHook()) {
        withHook.add(name);
      }
    }
    return new Toolkit(present, withHook, mode());
  }

  private @Nullable Program program(Path file) {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      Program known = programs.get(file);
      if (known != null && known.is(now)) {
        return known;
      }
      Program read =
          new Program(
              now.size(),
              now.lastModifiedTime().toMillis(),
              now.fileKey(),
              isScript(file),
              hasHook(file));
      programs.put(file, read);
      return read;
    } catch (IOException notThere) {
      programs.remove(file);
      return null;
    }
  }

  private static boolean isScript(Path file) throws IOException {
    try (InputStream program = Files.newInputStream(file)) {
      return Arrays.equals(program.readNBytes(2), new byte[] {'#', '!'});
    }
  }

  private static boolean hasHook(Path file) throws IOException {
    byte[] bytes = new byte[CHUNK_BYTES + Toolkit.HOOK.length()];
    int kept = 0;
    long total = 0;
    try (InputStream program = Files.newInputStream(file)) {
      int read = program.readNBytes(bytes, 0, CHUNK_BYTES);
      while (read > 0 && total < PROGRAM_BYTES_MAX) {
        int end = kept + read;
        if (new String(bytes, 0, end, StandardCharsets.ISO_8859_1).contains(Toolkit.HOOK)) {
          return true;
        }
        // The name may begin in this chunk and end in the next one.
        kept = Math.min(end, Toolkit.HOOK.length() - 1);
        System.arraycopy(bytes, end - kept, bytes, 0, kept);
        total += read;
        read = program.readNBytes(bytes, kept, CHUNK_BYTES);
      }
    }
    return false;
  }

  private String mode() {
    for (Path config : configs) {
      try (InputStream file = Files.newInputStream(config)) {
        String text = new String(file.readNBytes(CONFIG_BYTES_MAX), StandardCharsets.UTF_8);
        Matcher section = SECTION.matcher(text);
        Matcher mode = MODE.matcher(section.find() ? section.group(1) : "");
        return mode.find() ? mode.group(1) : "";
      } catch (IOException notThere) {
        // The next place, or the runtime's default.
      }
    }
    return "";
  }
}
