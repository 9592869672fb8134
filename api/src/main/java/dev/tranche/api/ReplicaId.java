package dev.tranche.api;

/**
 * The id of one replica as the kubelet sees it: {@code <uuid>::<k>}, k from 0, or the bare uuid of
 * a GPU that is not shared. dcgm-exporter and others parse this form.
 *
 * @param uuid of the GPU, as NVML reports it
 * @param ordinal k; -1 of a GPU that is not shared
 */
public record ReplicaId(String uuid, int ordinal) {
  private static final int UNSHARED = -1;
  private static final String SEPARATOR = "::";

  public ReplicaId {
    if (uuid.isEmpty() || uuid.contains(SEPARATOR)) {
      throw new IllegalArgumentException("not a GPU uuid: \"" + uuid + "\"");
    }
    if (ordinal < UNSHARED) {
      throw new IllegalArgumentException("replica " + ordinal + " of " + uuid + " is below 0");
    }
  }

  public static ReplicaId unshared(String uuid) {
    return new ReplicaId(uuid, UNSHARED);
  }

  /** Returns the uuid in an id of either form, even if the rest is malformed. */
  public static String uuidOf(String id) {
    int at = id.indexOf(SEPARATOR);
    return at < 0 ? id : id.substring(0, at);
  }

  @Override
  public String toString() {
    return ordinal == UNSHARED ? uuid : uuid + SEPARATOR + ordinal;
  }
}
