package dev.tranche.webhook;

import dev.tranche.process.settings.ProcessSetting;

/** The settings of the webhook. */
enum WebhookSetting implements ProcessSetting {
  NAME(
      "tranche",
      "Name of the installation; Secrets, Services and the configuration derive from it."),
  NAMESPACE("", "Namespace of the installation, set by the downward API."),
  LISTEN_ADDRESS("0.0.0.0:8443", "Host and port of the webhook, TLS."),
  METRICS_ADDRESS("0.0.0.0:9090", "Host and port of /metrics, /healthz and /readyz, plain HTTP."),
  RESOURCE(
      "nvidia.com/gpu",
      "Extended resources that the node plugin advertises, comma-separated; fractions become replicas of the first."),
  DEFAULT_REPLICAS_PER_GPU("20", "Replicas per GPU if no eligible node has the label."),
  GPU_MEMORY_RESERVE(
      "640Mi", "GPU memory that the driver reserves, if a node's labels state only the total."),
  DEFAULT_GPU_MEMORY(
      "",
      "Total memory of a GPU if no eligible node has the label; empty: requests by memory are denied then."),
  MEMORY_LIMITS_REQUIRED(
      "false", "Whether the node plugin limits the memory of each share by the driver."),
  MEMORY_LIMIT_OPT_OUT(
      "true",
      "Whether a pod can opt out of its memory limit by the annotation tranche.dev/gpu-memory-limit: none."),
  COMPAT(
      "",
      "Other systems whose annotations and resources are accepted, comma-separated: kai, hami."),
  SCHEDULER_NAME(
      "tranche-scheduler",
      "Scheduler of every pod that requests such a resource; empty: not changed."),
  REPLICA_SCHEDULERS(
      "", "Other schedulers, comma-separated, whose pods' plain numbers always count replicas."),
  RUNTIME_CLASS(
      "nvidia",
      "RuntimeClass of such pods, set if it exists and they name none; empty: not changed."),
  AUTHORITY_LIFE("3650d", "Lifetime of a new certificate authority."),
  CERTIFICATE_LIFE(
      "90d", "Lifetime of a new serving certificate; renewed when a third of it is left."),
  DRAIN_DELAY(
      "5s", "How long it still serves after SIGTERM, not ready, until Services have removed it."),
  CERTIFICATES("own", "Who creates the certificates: own (this process) or cert-manager."),
  SCHEDULER_CLIENT_CERTIFICATE(
      "false",
      "Also create the client certificate that the cluster's own kube-scheduler presents to the extender."),
  GUARD_MODE(
      "void",
      "Reaction of the guard to pods that can access GPUs they were not granted: audit, void or deny."),
  GUARD_ASSUME_DEFAULT_RUNTIME(
      "true",
      "true: pods that name no RuntimeClass may run with the nvidia runtime, so the guard checks them too."),
  GUARD_EXEMPT_SERVICE_ACCOUNTS(
      "", "ServiceAccounts whose pods the guard ignores: namespace:name, comma-separated."),
  KUBELET_ROOT(
      "/var/lib/kubelet",
      "The kubelets' root directory; the guard finds pods that mount its sockets."),
  CDI_ANNOTATION_PREFIXES(
      "",
      "Prefixes of annotations that runtimes read as CDI devices, besides cdi.k8s.io/; comma-separated.");

  private final String fallback;
  private final String meaning;

  WebhookSetting(String fallback, String meaning) {
    this.fallback = fallback;
    this.meaning = meaning;
  }

  @Override
  public String variable() {
    return switch (this) {
      case NAMESPACE -> "POD_NAMESPACE";
      default -> "TRANCHE_" + name();
    };
  }

  @Override
  public String fallback() {
    return fallback;
  }

  @Override
  public String meaning() {
    return meaning;
  }

  @Override
  public boolean isEmptyAllowed() {
    return this == SCHEDULER_NAME || this == RUNTIME_CLASS;
  }
}
