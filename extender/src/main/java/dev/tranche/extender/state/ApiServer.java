package dev.tranche.extender.state;

import dev.tranche.extender.ledger.PodFacts;
import io.vertx.core.Future;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The calls to the API server that the state and the verbs need. Nothing here blocks, all queues
 * are bounded, and futures complete on the loop.
 */
public interface ApiServer {
  /** The outcome of a Binding. */
  sealed interface BindOutcome {
    /** The pod is bound to that node, by this call or by an earlier attempt. */
    record Bound() implements BindOutcome {}

    record BoundElsewhere(String node) implements BindOutcome {}

    record Refused(String why) implements BindOutcome {}

    /** The Binding was sent, but neither the response nor the pod could be read. */
    record Unknown(String why) implements BindOutcome {}
  }

  /**
   * Posts a Binding. The future never fails.
   *
   * @param annotations for the pod; empty: none
   * @param expiry called on another thread right before the Binding is sent, which may be long
   *     after this call. It returns a sentence if the Binding must no longer be sent.
   */
  Future<BindOutcome> bind(
      PodFacts pod,
      String node,
      Map<String, String> annotations,
      Supplier<Optional<String>> expiry);

  /**
   * Reads the pod of a bind from the API server; empty if it doesn't exist or requests no GPU.
   *
   * @param key {@code namespace/name}
   */
  Future<Optional<PodFacts>> pod(String key);

  /** Reads a pod likewise, for no bind. Binds never wait for these reads. */
  Future<Optional<PodFacts>> checkedPod(String key);

  /** Annotates a node, so that kube-scheduler retries rejected pods. */
  Future<?> wake(String node);
}
