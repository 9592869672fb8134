package dev.tranche.simulate.script;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An extender that answers as a script says, and records each call. By default every node fits, the
 * first one by name is the best, each pod is bound, and the victims stay as offered.
 *
 * <p>A line says how many seconds have passed since the last answer about the same pod, rounded:
 * {@code "+1 filter p [a, b] -> [b]"}. A Binding is written beside other work, so its line stands
 * after the last one of its pod.
 */
public final class ScriptedExtender {
  private final LongSupplier clockMs;
  private final List<String> recording = new ArrayList<>();
  private final Map<String, Long> answeredAtMs = new HashMap<>();
  private final Map<String, Set<String>> refused = new HashMap<>();
  private final Map<String, Boolean> unresolvable = new HashMap<>();
  private final Map<String, Integer> failures = new HashMap<>();
  private final Map<String, Long> takesMs = new HashMap<>();
  private String best = "";
  private @Nullable Set<String> evictOn;

  /**
   * @param nodes that fit
   * @param refused that do not, and whether no eviction can help there
   */
  public record Filtered(List<String> nodes, Map<String, Boolean> refused) {}

  public ScriptedExtender(LongSupplier clockMs) {
    this.clockMs = clockMs;
  }

  // --- what a script says ---

  /** A pod does not fit these nodes from now on. */
  public synchronized void refuse(String pod, boolean noEvictionHelps, String... nodes) {
    refused.put(pod, Set.of(nodes));
    unresolvable.put(pod, noEvictionHelps);
  }

  /** A pod fits everywhere from now on. */
  public synchronized void accept(String pod) {
    refused.remove(pod);
  }

  /** The next calls of a verb for a pod get an error. */
  public synchronized void fail(String verb, String pod, int times) {
    failures.put(verb + " " + pod, times);
  }

  /** Answers to a verb about a pod take this long. */
  public synchronized void slow(String verb, String pod, int seconds) {
    takesMs.put(verb + " " + pod, 1_000L * seconds);
  }

  /** This node gets the highest score. */
  public synchronized void prefer(String node) {
    best = node;
  }

  /** Pods are evicted only on these nodes. */
  public synchronized void evictOnlyOn(String... nodes) {
    evictOn = Set.of(nodes);
  }

  // --- what the scheduler asks; an empty answer is an error ---

  /** Returns how long the answer takes. */
  public synchronized long takesMs(String verb, String pod) {
    return takesMs.getOrDefault(verb + " " + pod, 0L);
  }

  public synchronized Optional<Filtered> filter(String pod, List<String> nodes) {
    Map<String, Boolean> no = new TreeMap<>();
    var fit = new ArrayList<String>();
    for (String node : new TreeSet<>(nodes)) {
      if (refused.getOrDefault(pod, Set.of()).contains(node)) {
        no.put(node, unresolvable.getOrDefault(pod, false));
      } else {
        fit.add(node);
      }
    }
    String asked = "filter %s %s".formatted(pod, new TreeSet<>(nodes));
    return answer("filter", pod, asked, new Filtered(fit, no), fit.toString());
  }

  public synchronized Optional<Map<String, Integer>> prioritize(String pod, List<String> nodes) {
    var sorted = new TreeSet<>(nodes);
    String winner = sorted.contains(best) ? best : sorted.getFirst();
    Map<String, Integer> scores = new TreeMap<>();
    sorted.forEach(node -> scores.put(node, node.equals(winner) ? 1_000 : 0));
    return answer("prioritize", pod, "prioritize %s %s".formatted(pod, sorted), scores, winner);
  }

  /** Returns whether the pod may be bound. */
  public synchronized boolean bind(String pod, String node) {
    return answer("bind", pod, "bind %s %s".formatted(pod, node), true, "ok").isPresent();
  }

  /**
   * @param offered the victims' names by node
   * @return those of the nodes that are left
   */
  public synchronized Optional<Map<String, List<String>>> preempt(
      String pod, Map<String, List<String>> offered) {
    var sorted = new TreeMap<>(offered);
    var left = new TreeMap<>(sorted);
    Set<String> only = evictOn;
    if (only != null) {
      left.keySet().retainAll(only);
    }
    String asked = "preempt %s %s".formatted(pod, sorted);
    return answer("preempt", pod, asked, left, left.keySet().toString());
  }

  private <T> Optional<T> answer(String verb, String pod, String asked, T value, String shown) {
    int left = failures.getOrDefault(verb + " " + pod, 0);
    failures.put(verb + " " + pod, Math.max(0, left - 1));
    long now = clockMs.getAsLong();
    long seconds = Math.round((now - answeredAtMs.getOrDefault(pod, now)) / 1_000.0);
    String line = "+%d %s -> %s".formatted(seconds, asked, left > 0 ? "error" : shown);
    recording.add(verb.equals("bind") ? afterLastOf(pod) : recording.size(), line);
    answeredAtMs.put(pod, now + takesMs(verb, pod));
    return left > 0 ? Optional.empty() : Optional.of(value);
  }

  private int afterLastOf(String pod) {
    int at = recording.size();
    while (!recording.get(at - 1).contains(" " + pod + " ")) {
      at--;
    }
    return at;
  }

  // --- what is recorded ---

  /** The time before now does not count. */
  public synchronized void forgetTimes() {
    answeredAtMs.clear();
  }

  /** Adds a line about the state of a pod. */
  public synchronized void note(String line) {
    recording.add(line);
  }

  public synchronized List<String> recording() {
    return List.copyOf(recording);
  }
}
