package dev.tranche.e2e.install;

import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;

/** Namespaces for pods. */
public final class Namespaces {
  private Namespaces() {}

  /** Creates a namespace unless it exists, and returns when pods are admitted there. */
  public static void create(KubernetesClient client, String name) {
    client
        .resource(new NamespaceBuilder().withNewMetadata().withName(name).endMetadata().build())
        .serverSideApply();
    var accounts = client.serviceAccounts().inNamespace(name);
    Await.until("a default service account", 60, () -> accounts.withName("default").get() != null);
  }
}
