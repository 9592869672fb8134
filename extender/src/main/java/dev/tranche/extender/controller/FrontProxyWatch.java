package dev.tranche.extender.controller;

import dev.tranche.extender.readapi.access.FrontProxy;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the ConfigMap in which the API server publishes how it shows whose requests it proxies.
 */
public final class FrontProxyWatch implements AutoCloseable {
  private static final String NAMESPACE = "kube-system";
  private static final String NAME = "extension-apiserver-authentication";
  private static final Logger LOG = LoggerFactory.getLogger(FrontProxyWatch.class);

  private final SharedIndexInformer<ConfigMap> informer;
  private final Consumer<FrontProxy> onProxy;
  private volatile boolean closed;

  /**
   * @param onProxy called with what is published, on a thread of the client's
   */
  public FrontProxyWatch(KubernetesClient client, Consumer<FrontProxy> onProxy) {
    this.onProxy = onProxy;
    this.informer =
        client
            .configMaps()
            .inNamespace(NAMESPACE)
            .withName(NAME)
            .runnableInformer(0)
            .addEventHandler(new Handler())
            .exceptionHandler((started, failure) -> retryAlways(failure));
  }

  public void start() {
    informer.start().whenComplete((started, failure) -> logFailure(failure));
  }

  private boolean retryAlways(Throwable failure) {
    LOG.warn("cannot read ConfigMap {}/{}, will retry: {}", NAMESPACE, NAME, failure.toString());
    return true;
  }

  private void logFailure(@Nullable Throwable failure) {
    if (failure != null && !closed) {
      LOG.error(
          "cannot watch ConfigMap {}/{}; the aggregated API stays closed",
          NAMESPACE,
          NAME,
          failure);
    }
  }

  private void read(ConfigMap map) {
    switch (FrontProxy.of(map.getData() == null ? Map.of() : map.getData())) {
      case FrontProxy.Read.Usable(FrontProxy proxy) -> onProxy.accept(proxy);
      case FrontProxy.Read.Unusable(String why) ->
          LOG.error(
              "the aggregated API cannot use ConfigMap {}/{}: {}; the last usable one counts",
              NAMESPACE,
              NAME,
              why);
    }
  }

  private final class Handler implements ResourceEventHandler<ConfigMap> {
    @Override
    public void onAdd(ConfigMap map) {
      read(map);
    }

    @Override
    public void onUpdate(ConfigMap before, ConfigMap now) {
      read(now);
    }

    @Override
    public void onDelete(ConfigMap map, boolean unknownFinalState) {
      LOG.warn("ConfigMap {}/{} was deleted; its last content stays in use", NAMESPACE, NAME);
    }
  }

  @Override
  public void close() {
    closed = true;
    informer.stop();
  }
}
