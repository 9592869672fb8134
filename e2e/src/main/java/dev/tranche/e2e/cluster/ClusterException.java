package dev.tranche.e2e.cluster;

import org.jspecify.annotations.Nullable;

/** The cluster did not do what it was told; the message carries what its components last said. */
public final class ClusterException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ClusterException(String message) {
    super(message);
  }

  ClusterException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
