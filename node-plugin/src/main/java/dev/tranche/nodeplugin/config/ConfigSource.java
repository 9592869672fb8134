package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Loads the config from one file, from a folder of files, or without a file. Blocks on the disk.
 */
public record ConfigSource(Settings<Setting> settings) {
  /** NVIDIA's name for the config of nodes without a label, if no default is set. */
  private static final String NAMED_DEFAULT = "default";

  /** A config that may be used, or why there is none. */
  public sealed interface Outcome {
    String name();

    /** Returns the text of its file; empty if none was read. */
    String text();

    record Usable(String name, Config config, Set<String> warnings, String text)
        implements Outcome {
      /** Returns what to keep of it for a restart: its name, then its text. */
      public byte[] kept() {
        return (name + "\n" + text).getBytes(UTF_8);
      }
    }

    record Refused(String name, String text, String reason) implements Outcome {}
  }

  /** Returns whether there may be several configs, of which the node's label selects one. */
  public boolean selectsByLabel() {
    return !settings.text(Setting.CONFIG_DIR).isEmpty()
        && settings.text(Setting.CONFIG_FILE).isEmpty();
  }

  /**
   * Reads the config that this node is to use.
   *
   * @param label value of the node's label; empty: no label, or not known
   * @param before the last outcome, whose text is not parsed again
   */
  public Outcome load(String label, @Nullable Outcome before) {
    try {
      if (!settings.text(Setting.CONFIG_FILE).isEmpty()) {
        Path file = Path.of(settings.text(Setting.CONFIG_FILE));
        return parse(file.getFileName().toString(), Files.readString(file), before);
      }
      if (selectsByLabel()) {
        return loadFrom(Path.of(settings.text(Setting.CONFIG_DIR)), label, before);
      }
      // The flags alone, which do not change.
      return before == null ? check("", ConfigFile.EMPTY, new ConfigErrors(), "") : before;
    } catch (IOException | UncheckedIOException e) {
      return new Outcome.Refused(label, "", "the config cannot be read: " + e);
    }
  }

  private Outcome loadFrom(Path folder, String label, @Nullable Outcome before) throws IOException {
    Set<String> names = names(folder);
    String wanted = choose(label, settings.text(Setting.DEFAULT_CONFIG), names);
    if (names.contains(wanted)) {
      return parse(wanted, Files.readString(folder.resolve(wanted)), before);
    }
    String listed = names.stream().sorted().collect(joining(", "));
    return new Outcome.Refused(
        label,
        "",
        wanted.isEmpty()
            ? "none of the configs is chosen (%s); set the node's label nvidia.com/device-plugin.config, or %s"
                .formatted(listed, Setting.DEFAULT_CONFIG.describe())
            : "there is no config \"%s\"; there are: %s".formatted(wanted, listed));
  }

  /**
   * Chooses the config that the label names, else the default, else the one called "default", else
   * the only one.
   *
   * @param label value of the node's label nvidia.com/device-plugin.config; empty: no label
   * @param fallback the default's name; empty: none
   * @return empty if nothing decides
   */
  static String choose(String label, String fallback, Set<String> names) {
    if (!label.isEmpty() || !fallback.isEmpty()) {
      return label.isEmpty() ? fallback : label;
    }
    if (names.contains(NAMED_DEFAULT)) {
      return NAMED_DEFAULT;
    }
    return names.size() == 1 ? names.iterator().next() : "";
  }

  // A mounted ConfigMap keeps its versions in hidden folders, with a link for each key.
  private static Set<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(Files::isRegularFile)
          .map(f -> f.getFileName().toString())
          .filter(n -> !n.startsWith("."))
          .collect(toSet());
    }
  }

  /** Reads the config that an earlier run has kept; empty if the current flags refuse it. */
  public Optional<Outcome.Usable> earlier(byte[] kept) {
    String[] parts = new String(kept, UTF_8).split("\n", 2);
    return parts.length == 2 && parse(parts[0], parts[1], null) instanceof Outcome.Usable usable
        ? Optional.of(usable)
        : Optional.empty();
  }

  private Outcome parse(String name, String text, @Nullable Outcome before) {
    if (before != null
        && !text.isEmpty()
        && before.name().equals(name)
        && before.text().equals(text)) {
      return before;
    }
    ConfigErrors findings = new ConfigErrors();
    return check(name, ConfigFile.parse(text, findings), findings, text);
  }

  private Outcome check(String name, ConfigFile file, ConfigErrors findings, String text) {
    Config config = Config.of(settings, file, findings);
    return findings.clean()
        ? new Outcome.Usable(name, config, Set.copyOf(findings.warnings()), text)
        : new Outcome.Refused(name, text, String.join("; ", findings.errors()));
  }
}
