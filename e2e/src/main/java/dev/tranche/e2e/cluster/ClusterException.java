package dev.tranche.e2e.cluster;

import org.jspecify.annotations.Nullable;

/** The cluster failed or timed out; the message of a failed start has its nodes' last log lines. */
public final class ClusterException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ClusterException(String message) {
    super(message);
  }

  ClusterException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
