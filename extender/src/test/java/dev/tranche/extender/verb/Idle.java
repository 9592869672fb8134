package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.PodFacts;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Supplier;

/** Nodes and an API server that are never asked for anything. */
public final class Idle implements Nodes, Api {
  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    throw new AssertionError("nothing is assigned");
  }

  @Override
  public void configure(String node, String config) {}

  @Override
  public void retract(String node, String uid) {}

  @Override
  public void forget(String node) {}

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod, String node, String gpuAnnotation, Supplier<Optional<String>> expiry) {
    throw new AssertionError("nothing is bound");
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    throw new AssertionError("no pod is read");
  }

  @Override
  public Future<?> wake(String node) {
    return Future.succeededFuture();
  }

  @Override
  public void explainRejection(PodFacts pod, String message) {}
}
