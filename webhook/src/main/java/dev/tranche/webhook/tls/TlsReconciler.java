package dev.tranche.webhook.tls;

import io.fabric8.kubernetes.client.KubernetesClientException;

/** One round of keeping; any number of replicas may do this at once. */
interface TlsReconciler {
  /**
   * @throws KubernetesClientException if the API server refuses or cannot be reached
   */
  TlsState keep();
}
