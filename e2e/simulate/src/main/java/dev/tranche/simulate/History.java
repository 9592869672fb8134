package dev.tranche.simulate;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;

/** What has happened, a line for each event, and the hash of it all. */
final class History {
  /**
   * @param who the process or object
   */
  record Line(long atMs, String who, String what) {
    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%9.3f s  %-12s %s", atMs / 1_000.0, who, what);
    }
  }

  private final EventQueue queue;
  private final MessageDigest digest;
  private final List<Line> lines = new ArrayList<>();

  History(EventQueue queue) {
    this.queue = queue;
    try {
      this.digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  void add(String who, String what) {
    var line = new Line(queue.nowMs(), who, what);
    lines.add(line);
    digest.update((line.atMs() + " " + who + " " + what + "\n").getBytes(UTF_8));
  }

  List<Line> lines() {
    return lines;
  }

  /** Returns the hash of all lines; nothing may be added later. */
  String hash() {
    return HexFormat.of().formatHex(digest.digest());
  }
}
