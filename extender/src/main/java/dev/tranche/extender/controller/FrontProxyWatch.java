package dev.tranche.extender.controller;

import dev.tranche.extender.readapi.access.FrontProxy;
import dev.tranche.process.client.ObjectWatch;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the ConfigMap in which the API server publishes how it shows whose requests it proxies.
 */
public final class FrontProxyWatch {
  private static final String NAMESPACE = "kube-system";
  private static final String NAME = "extension-apiserver-authentication";
  private static final Logger LOG = LoggerFactory.getLogger(FrontProxyWatch.class);

  private FrontProxyWatch() {}

  /**
   * @param onProxy called with what is published, on the client's event loop
   */
  public static ObjectWatch<ConfigMap> of(KubernetesClient client, Consumer<FrontProxy> onProxy) {
    return new ObjectWatch<>(
        client,
        api -> api.configMaps().inNamespace(NAMESPACE).withName(NAME),
        "ConfigMap " + NAMESPACE + "/" + NAME,
        "the aggregated API stays closed",
        map -> read(map, onProxy));
  }

  private static void read(ConfigMap map, Consumer<FrontProxy> onProxy) {
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
}
