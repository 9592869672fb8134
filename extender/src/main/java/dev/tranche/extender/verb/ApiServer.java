package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.PodFacts;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Supplier;

/** The API server, as the verbs need it. Nothing here blocks; all queues are bounded. */
public interface ApiServer {
  /** What became of a Binding. */
  sealed interface BindOutcome {
    /** On that node, by us now or by an earlier try. */
    record Bound() implements BindOutcome {}

    record BoundElsewhere(String node) implements BindOutcome {}

    record Refused(String why) implements BindOutcome {}

    /** Asked, but neither the answer nor the pod could be read. */
    record Unknown(String why) implements BindOutcome {}
  }

  /**
   * Never fails.
   *
   * @param expiry asked on another thread right before the Binding is sent, which may be long after
   *     the call: a sentence when it must not be sent any more
   */
  Future<BindOutcome> bind(
      PodFacts pod, String node, String gpuAnnotation, Supplier<Optional<String>> expiry);

  /**
   * The pod as the API server has it now; empty if there is none that asks for a GPU.
   *
   * @param key {@code namespace/name}
   */
  Future<Optional<PodFacts>> pod(String key);
}
