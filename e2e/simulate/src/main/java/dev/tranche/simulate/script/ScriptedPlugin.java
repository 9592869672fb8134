package dev.tranche.simulate.script;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * A device plugin that answers as a script says, and records each call. Its devices are {@code d0},
 * {@code d1} and so on. By default it prefers the first ones, and grants each pick.
 */
public final class ScriptedPlugin {
  private static final int DEVICES = 6;

  private final List<String> recording = new ArrayList<>();
  private final Map<String, Boolean> devices = new LinkedHashMap<>();
  private boolean prefersLast;
  private int refusals;
  private int takesSeconds;

  public ScriptedPlugin() {
    for (int i = 0; i < DEVICES; i++) {
      devices.put("d" + i, true);
    }
  }

  // --- what a script says ---

  /** It prefers the last devices from now on. */
  public synchronized void preferLast() {
    prefersLast = true;
  }

  /** The next calls of Allocate get an error. */
  public synchronized void refuse(int times) {
    refusals = times;
  }

  /** Answers to Allocate take this long from now on. */
  public synchronized void slow(int seconds) {
    takesSeconds = seconds;
  }

  /** Only the script's stage calls this: the list must be sent, too. */
  public synchronized void healthy(String device, boolean now) {
    devices.put(device, now);
  }

  // --- what the kubelet asks ---

  /** Returns whether each device is healthy. */
  public synchronized Map<String, Boolean> devices() {
    return new LinkedHashMap<>(devices);
  }

  public synchronized int takesSeconds() {
    return takesSeconds;
  }

  public synchronized List<String> prefer(List<String> available, int size) {
    var sorted = new TreeSet<>(available);
    recording.add("prefer %d of %s".formatted(size, sorted));
    return (prefersLast ? sorted.descendingSet() : sorted).stream().limit(size).toList();
  }

  /** Returns the error; empty if the pick is granted. */
  public synchronized Optional<String> allocate(List<String> picked) {
    boolean refuses = refusals > 0;
    refusals = Math.max(0, refusals - 1);
    recording.add(
        "allocate %s -> %s".formatted(new TreeSet<>(picked), refuses ? "error" : "granted"));
    return refuses ? Optional.of("refused by the script") : Optional.empty();
  }

  // --- what is recorded ---

  /** Adds a line about the state of a pod or the node. */
  public synchronized void note(String line) {
    recording.add(line);
  }

  public synchronized List<String> recording() {
    return List.copyOf(recording);
  }
}
