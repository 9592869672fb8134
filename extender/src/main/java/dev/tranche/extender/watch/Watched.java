package dev.tranche.extender.watch;

/**
 * An object of a kind of which little is read.
 *
 * @param key {@code namespace/name}, or the name alone if the object has no namespace
 * @param read what is read of it beside its metadata
 */
public record Watched<T>(String key, String uid, T read) implements WatchedObject {
  static <T> Watched<T> of(Metadata metadata, T read) {
    return new Watched<>(metadata.key(), metadata.uid(), read);
  }
}
