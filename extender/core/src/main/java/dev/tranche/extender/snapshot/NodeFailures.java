package dev.tranche.extender.snapshot;

/**
 * Is told of unexpected exceptions that one node causes. The node then gets no pods, and all others
 * are answered.
 */
@FunctionalInterface
public interface NodeFailures {
  /** May be called on any thread. */
  void failed(String node, Throwable bug);
}
