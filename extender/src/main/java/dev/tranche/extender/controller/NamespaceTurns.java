package dev.tranche.extender.controller;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
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
 * namespace keeps out another one. Not thread-safe.
 */
final class NamespaceTurns<V> {
  private final int max;

  /** By uid, by namespace; the namespace whose turn is next comes first. */
  private final SequencedMap<String, SequencedMap<String, V>> namespaces = new LinkedHashMap<>();

  private final Map<String, String> namespaceByUid = new HashMap<>();

  /** The namespaces by their number of pods. */
  private final TreeMap<Integer, Set<String>> bySize = new TreeMap<>();

  NamespaceTurns(int max) {
    this.max = max;
  }

  int size() {
    return namespaceByUid.size();
  }

  @Nullable V get(String uid) {
    String namespace = namespaceByUid.get(uid);
    return namespace == null ? null : pods(namespace).get(uid);
  }

  /** Returns whether there was a place for it. */
  boolean put(String namespace, String uid, V value) {
    SequencedMap<String, V> own = pods(namespace);
    int before = own.size();
    if (!own.containsKey(uid) && size() >= max && !makeRoom(before)) {
      return false;
    }
    own.put(uid, value);
    namespaceByUid.put(uid, namespace);
    namespaces.putIfAbsent(namespace, own);
    resized(namespace, before);
    return true;
  }

  /** Moves a place to a namespace with that many pods, unless that only turns the tables. */
  private boolean makeRoom(int own) {
    int most = bySize.isEmpty() ? 0 : bySize.lastKey();
    if (most <= own + 1) {
      return false;
    }
    String largest = bySize.lastEntry().getValue().iterator().next();
    namespaceByUid.remove(pods(largest).pollLastEntry().getKey());
    resized(largest, most);
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
        Map.Entry<String, V> first = own.pollFirstEntry();
        namespaceByUid.remove(first.getKey());
        namespaces.putLast(namespace, own);
        resized(namespace, before);
        return Optional.of(first.getValue());
      }
    }
    return Optional.empty();
  }

  void remove(String uid) {
    String namespace = namespaceByUid.remove(uid);
    if (namespace != null) {
      int before = pods(namespace).size();
      pods(namespace).remove(uid);
      resized(namespace, before);
    }
  }

  /** Keeps only these pods, by uid. */
  void retain(Set<String> uids) {
    List.copyOf(namespaceByUid.keySet()).stream()
        .filter(uid -> !uids.contains(uid))
        .forEach(this::remove);
  }

  private SequencedMap<String, V> pods(String namespace) {
    return namespaces.getOrDefault(namespace, new LinkedHashMap<>());
  }

  /**
   * @param before how many pods it had
   */
  private void resized(String namespace, int before) {
    int now = pods(namespace).size();
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
