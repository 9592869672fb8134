package dev.tranche.extender.controller;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What is kept of pods, bounded in number. Once it is full, the namespace with the most pods loses
 * its newest for a namespace with fewer. Values are taken in turns of the namespaces. So no
 * namespace keeps out another one. Confined to the loop.
 */
final class NamespaceTurns<V> {
  private final int max;

  /** By uid, by namespace; the namespace whose turn is next comes first. */
  private final SequencedMap<String, SequencedMap<String, V>> namespaces = new LinkedHashMap<>();

  /** The namespaces by their number of pods. */
  private final TreeMap<Integer, Set<String>> bySize = new TreeMap<>();

  private int size;

  NamespaceTurns(int max) {
    this.max = max;
  }

  int size() {
    return size;
  }

  @Nullable V get(String namespace, String uid) {
    SequencedMap<String, V> own = namespaces.get(namespace);
    return own == null ? null : own.get(uid);
  }

  /** Returns whether there was a place for it. */
  boolean put(String namespace, String uid, V value) {
    SequencedMap<String, V> known = namespaces.get(namespace);
    if (known != null && known.replace(uid, value) != null) {
      return true;
    }
    int own = known == null ? 0 : known.size();
    if (size >= max && !makeRoom(own)) {
      return false;
    }
    namespaces.computeIfAbsent(namespace, first -> new LinkedHashMap<>()).put(uid, value);
    resized(namespace, own, own + 1);
    return true;
  }

  /** Moves a place to a namespace with that many pods, unless that only turns the tables. */
  private boolean makeRoom(int own) {
    int most = bySize.lastKey();
    if (most <= own + 1) {
      return false;
    }
    String largest = bySize.lastEntry().getValue().iterator().next();
    pods(largest).pollLastEntry();
    resized(largest, most, most - 1);
    return true;
  }

  /**
   * Takes the oldest value of the namespace whose turn it is.
   *
   * @param ready whether a namespace may have its turn now
   */
  Optional<V> next(Predicate<String> ready) {
    for (String namespace : namespaces.keySet()) {
      if (ready.test(namespace)) {
        SequencedMap<String, V> own = pods(namespace);
        int before = own.size();
        V value = own.pollFirstEntry().getValue();
        namespaces.putLast(namespace, own);
        resized(namespace, before, before - 1);
        return Optional.of(value);
      }
    }
    return Optional.empty();
  }

  /** Keeps only these pods, by uid. */
  void retain(Set<String> uids) {
    Map<String, Integer> before = new HashMap<>();
    namespaces.forEach((namespace, own) -> before.put(namespace, own.size()));
    before.forEach(
        (namespace, count) -> {
          SequencedMap<String, V> own = pods(namespace);
          if (own.keySet().retainAll(uids)) {
            resized(namespace, count, own.size());
          }
        });
  }

  private SequencedMap<String, V> pods(String namespace) {
    return namespaces.getOrDefault(namespace, new LinkedHashMap<>());
  }

  private void resized(String namespace, int before, int now) {
    size += now - before;
    Set<String> equal = bySize.get(before);
    if (equal != null) {
      equal.remove(namespace);
      if (equal.isEmpty()) {
        bySize.remove(before);
      }
    }
    if (now == 0) {
      namespaces.remove(namespace);
    } else {
      bySize.computeIfAbsent(now, first -> new LinkedHashSet<>()).add(namespace);
    }
  }
}
