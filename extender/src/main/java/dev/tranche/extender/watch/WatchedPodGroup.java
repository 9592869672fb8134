package dev.tranche.extender.watch;

/**
 * The fields of a PodGroup that we read.
 *
 * @param key {@code namespace/name}
 * @param minimum of pods that are placed together; 0 for a group that is no gang
 * @param refusal identifies what kube-scheduler says about its last attempt, if that failed; 0 if
 *     none has failed
 */
public record WatchedPodGroup(
    String key, String uid, String resourceVersion, int minimum, int refusal)
    implements WatchedObject {
  @Override
  public boolean tracked() {
    return true;
  }
}
