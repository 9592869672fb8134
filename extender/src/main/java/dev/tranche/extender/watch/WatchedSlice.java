package dev.tranche.extender.watch;

/**
 * The fields of a ResourceSlice that we read.
 *
 * @param node empty if the devices are not of one node
 */
public record WatchedSlice(
    String key, String uid, String resourceVersion, String node, String driver)
    implements WatchedObject {
  @Override
  public boolean tracked() {
    return !node.isEmpty();
  }
}
