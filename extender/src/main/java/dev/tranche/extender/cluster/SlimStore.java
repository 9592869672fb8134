package dev.tranche.extender.cluster;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import io.fabric8.kubernetes.client.informers.cache.ItemStore;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An informer's store that keeps names and versions only: what we decide on is in the Ledger, and
 * thousands of whole Pods and Nodes would be most of our memory.
 */
final class SlimStore<T extends HasMetadata> implements ItemStore<T> {
  private final ConcurrentMap<String, T> items = new ConcurrentHashMap<>();
  private final Predicate<T> ours;
  private final Supplier<T> empty;

  /**
   * @param ours objects that are kept at all; of others no deletion is told
   */
  SlimStore(Predicate<T> ours, Supplier<T> empty) {
    this.ours = ours;
    this.empty = empty;
  }

  @Override
  public String getKey(T item) {
    return Cache.metaUidKeyFunc(item);
  }

  @Override
  public @Nullable T put(String key, T item) {
    return ours.test(item) ? items.put(key, slim(item)) : items.remove(key);
  }

  private T slim(T item) {
    ObjectMeta full = item.getMetadata();
    var meta = new ObjectMeta();
    meta.setName(full.getName());
    meta.setNamespace(full.getNamespace());
    meta.setUid(full.getUid());
    meta.setResourceVersion(full.getResourceVersion());
    T slim = empty.get();
    slim.setMetadata(meta);
    return slim;
  }

  @Override
  public @Nullable T remove(String key) {
    return items.remove(key);
  }

  @Override
  public Stream<String> keySet() {
    return items.keySet().stream();
  }

  @Override
  public Stream<T> values() {
    return items.values().stream();
  }

  @Override
  public int size() {
    return items.size();
  }

  @Override
  public @Nullable T get(String key) {
    return items.get(key);
  }

  @Override
  public boolean isFullState() {
    return false;
  }
}
