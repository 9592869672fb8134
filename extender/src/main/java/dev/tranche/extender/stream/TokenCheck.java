package dev.tranche.extender.stream;

import io.vertx.core.Future;

/** Identifies the node at the other end of a stream. */
public interface TokenCheck {
  sealed interface Identity {
    /** The node whose plugin shows the token. */
    record OfNode(String node) implements Identity {}

    record Refused(String why) implements Identity {}
  }

  /** Never fails; may complete on any thread. */
  Future<Identity> identify(String token);
}
