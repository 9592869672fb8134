package dev.tranche.api;

/**
 * The id of one replica as the kubelet sees it: {@code <uuid>::<k>}, k from 0, or the bare uuid of
 * a GPU that is not shared. dcgm-exporter and others parse this form.
 *
 * @param uuid of the GPU, as NVML reports it
 * @param ordinal k, or {@link #UNSHARED}
 */
public record ReplicaId(String uuid, int ordinal) {
  public static final int UNSHARED = -1;
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

  /**
   * Reads either form.
   *
   * @throws IllegalArgumentException if what follows the separator is no number as we write it:
   *     {@code ::00} is not {@code ::0}
   */
  public static ReplicaId parse(String id) {
    int at = id.indexOf(SEPARATOR);
    if (at < 0) {
      return unshared(id);
    }
    String ordinal = id.substring(at + SEPARATOR.length());
    boolean digits = !ordinal.isEmpty() && ordinal.chars().allMatch(c -> c >= '0' && c <= '9');
    if (!digits || (ordinal.length() > 1 && ordinal.startsWith("0"))) {
      throw new IllegalArgumentException(
          "not a replica id: \"" + id + "\"; expected <uuid>::<number>");
    }
    return new ReplicaId(id.substring(0, at), Integer.parseInt(ordinal));
  }

  /** Returns the uuid in an id of either form, even if the rest is malformed. */
  public static String uuidOf(String id) {
    int at = id.indexOf(SEPARATOR);
    return at < 0 ? id : id.substring(0, at);
  }

  public boolean shared() {
    return ordinal != UNSHARED;
  }

  @Override
  public String toString() {
    return shared() ? uuid + SEPARATOR + ordinal : uuid;
  }
}
