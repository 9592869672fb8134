package dev.tranche.extender.controller;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.dsl.Informable;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Watches one named object, however often reading it fails. */
final class ObjectWatch<T extends HasMetadata> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectWatch.class);

  private final SharedIndexInformer<T> informer;
  private final String object;
  private final String consequence;
  private final Consumer<T> onObject;
  private volatile boolean closed;

  /**
   * @param object its kind and name, for the log
   * @param consequence what does not work without it
   * @param onObject called with each state of the object, on a thread of the client's
   */
  ObjectWatch(Informable<T> informable, String object, String consequence, Consumer<T> onObject) {
    this.object = object;
    this.consequence = consequence;
    this.onObject = onObject;
    this.informer =
        informable
            .runnableInformer(0)
            .addEventHandler(new Handler())
            .exceptionHandler((started, failure) -> retryAlways(failure));
  }

  void start() {
    informer.start().whenComplete((started, failure) -> logFailure(failure));
  }

  private boolean retryAlways(Throwable failure) {
    LOG.warn("cannot read {}, will retry: {}", object, failure.toString());
    return true;
  }

  private void logFailure(@Nullable Throwable failure) {
    if (failure != null && !closed) {
      LOG.error("cannot watch {}; {}", object, consequence, failure);
    }
  }

  private final class Handler implements ResourceEventHandler<T> {
    @Override
    public void onAdd(T now) {
      onObject.accept(now);
    }

    @Override
    public void onUpdate(T before, T now) {
      onObject.accept(now);
    }

    @Override
    public void onDelete(T last, boolean unknownFinalState) {
      LOG.warn("{} was deleted; its last content stays in use", object);
    }
  }

  @Override
  public void close() {
    closed = true;
    informer.stop();
  }
}
