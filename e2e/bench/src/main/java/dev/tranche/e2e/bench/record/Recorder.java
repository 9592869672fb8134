package dev.tranche.e2e.bench.record;

import dev.tranche.simulate.script.Script;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes the recordings of scripts to one file. */
final class Recorder {
  private Recorder() {}

  /** Plays a script on a new stage. */
  interface Player<T> {
    /** Returns the recording. */
    List<String> play(T script) throws IOException;
  }

  /**
   * @param titles of the scripts to play; all if there are none
   */
  static <T extends Script<?>> void write(
      Path file, T[] scripts, List<String> titles, Player<T> player) throws IOException {
    var lines = new ArrayList<String>();
    for (T script : scripts) {
      if (titles.isEmpty() || titles.contains(script.title())) {
        lines.add("# " + script.title());
        lines.addAll(player.play(script));
        Files.write(file, lines);
      }
    }
  }

  /** Sleeps until a time of day. */
  static void sleepUntil(long wallMs) {
    try {
      Thread.sleep(Math.max(0, wallMs - System.currentTimeMillis()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
