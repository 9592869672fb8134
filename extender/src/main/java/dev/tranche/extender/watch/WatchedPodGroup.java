package dev.tranche.extender.watch;

/**
 * The fields of a PodGroup that we read.
 *
 * @param key {@code namespace/name}
 * @param minimum of pods that are placed together; 0 for a group that is no gang
 */
public record WatchedPodGroup(String key, String uid, String resourceVersion, int minimum)
    implements WatchedObject {
  @Override
  public boolean tracked() {
    return true;
  }
}
