package dev.tranche.api;

import java.util.Comparator;

/**
 * The id of one replica as the kubelet sees it: {@code <uuid>::<k>}, k from 0, or the bare uuid of
 * a GPU that is not shared. dcgm-exporter and others parse this form.
 */
public final class ReplicaId {
  /** Orders the ids of one GPU. Length first, so that ::10 comes after ::9. */
  public static final Comparator<String> BY_ORDINAL =
      Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder());

  private static final String SEPARATOR = "::";

  private ReplicaId() {}

  /** Returns the id of replica k of a shared GPU. */
  public static String of(String uuid, int k) {
    return uuid + SEPARATOR + k;
  }

  /** Returns the uuid in an id of either form, even if the rest is malformed. */
  public static String uuidOf(String id) {
    int at = id.indexOf(SEPARATOR);
    return at < 0 ? id : id.substring(0, at);
  }
}
