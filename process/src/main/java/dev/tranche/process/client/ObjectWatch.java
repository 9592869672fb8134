package dev.tranche.process.client;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Informable;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Watches one named object, however often reading it fails. */
public final class ObjectWatch<T extends HasMetadata> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectWatch.class);

  private final SharedIndexInformer<T> informer;

  /**
   * @param object its kind and name, for the log
   * @param consequence what does not work without it
   * @param onObject called with each state of the object, on the client's event loop: must not
   *     block
   */
  public ObjectWatch(
      KubernetesClient client,
      Function<KubernetesClient, Informable<T>> informable,
      String object,
      String consequence,
      Consumer<T> onObject) {
    this.informer =
        informable
            .apply(ApiClient.forInformers(client))
            .runnableInformer(0)
            .addEventHandler(
                new ResourceEventHandler<>() {
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
                    LOG.warn("{} was deleted; what was read of it stays in use", object);
                  }
                })
            .exceptionHandler(
                (started, failure) -> {
                  LOG.warn(
                      "cannot read {}, will retry; without it {}: {}",
                      object,
                      consequence,
                      failure.toString());
                  return true;
                });
  }

  public void start() {
    ApiClient.start(informer);
  }

  @Override
  public void close() {
    informer.stop();
  }
}
