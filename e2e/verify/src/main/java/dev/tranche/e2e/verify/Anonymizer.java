package dev.tranche.e2e.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Removes from a text what identifies the machine: uuids, its name, its user's folder. */
public final class Anonymizer {
  // The first four digits tell two GPUs of a machine apart.
  private static final Pattern UUID =
      Pattern.compile("((?:GPU|MIG)-(?:GPU-)?[0-9a-fA-F]{4})[-0-9a-fA-F]{12,}(?:/\\d+/\\d+)?");
  // Under sudo, the user's home folder is not the one in the paths.
  private static final Pattern HOME = Pattern.compile("/home/[^/\\s:;,'\"()]+");
  private static final int NAME_CHARS_MIN = 3;

  private final String host;
  private final String home;

  Anonymizer(String host, String home) {
    this.host = host;
    this.home = home;
  }

  public static Anonymizer forThisMachine() {
    return new Anonymizer(hostName(), System.getProperty("user.home", ""));
  }

  private static String hostName() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    } catch (IOException unknown) {
      return "";
    }
  }

  String anonymize(String text) {
    String shorter = UUID.matcher(text).replaceAll("$1…");
    String homeless = home.length() < NAME_CHARS_MIN ? shorter : shorter.replace(home, "~");
    return withoutHost(HOME.matcher(homeless).replaceAll("/home/USER"));
  }

  /** Replaces the host's name, short or fully qualified, and its domain. */
  private String withoutHost(String text) {
    int dot = host.indexOf('.');
    String name = dot < 0 ? host : host.substring(0, dot);
    String domain = dot < 0 ? "" : host.substring(dot + 1);
    String nameless = without(text, name, "(?:\\.[\\w-]+)*", "HOST");
    return without(nameless, domain, "", "DOMAIN");
  }

  private static String without(String text, String word, String more, String instead) {
    return word.length() < NAME_CHARS_MIN
        ? text
        : text.replaceAll("(?<![\\w-])" + Pattern.quote(word) + more + "(?![\\w-])", instead);
  }
}
