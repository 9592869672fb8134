package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.gpu.HeldReplica;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The file that carries held replicas over a restart, in which the config may change: a line for
 * each, {@code <resource> <id> <of>}. Blocks on the disk.
 */
final class HeldFile {
  private static final String NAME = "held-replicas";
  private static final Pattern LINE = Pattern.compile("(\\S+) (\\S+) ([1-9]\\d{0,4})");

  private final Path folder;

  HeldFile(Path folder) {
    this.folder = folder;
  }

  Path write(Collection<HeldReplica> held) throws IOException {
    List<String> lines =
        held.stream().map(h -> h.resource() + " " + h.id() + " " + h.of()).sorted().toList();
    Files.createDirectories(folder);
    Path fresh = folder.resolve(NAME + ".new");
    Files.write(fresh, lines);
    return Files.move(fresh, folder.resolve(NAME), StandardCopyOption.ATOMIC_MOVE);
  }

  /** None if there is no file; a line that is none of ours is left out. */
  List<HeldReplica> read() throws IOException {
    Path file = folder.resolve(NAME);
    List<HeldReplica> held = new ArrayList<>();
    if (Files.exists(file)) {
      Files.readAllLines(file).forEach(line -> parse(line).ifPresent(held::add));
    }
    return held;
  }

  private static Optional<HeldReplica> parse(String line) {
    Matcher match = LINE.matcher(line);
    return match.matches()
        ? Optional.of(
            new HeldReplica(match.group(1), match.group(2), Integer.parseInt(match.group(3))))
        : Optional.empty();
  }
}
