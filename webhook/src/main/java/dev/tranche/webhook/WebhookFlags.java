package dev.tranche.webhook;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The command line as it was typed. All values are text here, so that {@link WebhookConfig} can
 * report every error at once.
 */
@Command(
    name = "tranche-webhook",
    mixinStandardHelpOptions = true,
    description = "Turns fractions of GPUs into replicas at admission; owns the TLS material.")
final class WebhookFlags {
  @Option(
      names = "--name",
      defaultValue = "${env:TRANCHE_NAME:-tranche}",
      description =
          "Name of the installation; Secrets, Services and the configuration derive from it.")
  String name = "";

  @Option(
      names = "--namespace",
      defaultValue = "${env:POD_NAMESPACE:-}",
      description = "Namespace of the installation; by the downward API.")
  String namespace = "";

  @Option(
      names = "--listen-address",
      defaultValue = "${env:TRANCHE_LISTEN_ADDRESS:-0.0.0.0:8443}",
      description = "Host and port of the webhook, TLS.")
  String listenAddress = "";

  @Option(
      names = "--metrics-address",
      defaultValue = "${env:TRANCHE_METRICS_ADDRESS:-0.0.0.0:9090}",
      description = "Host and port of /metrics, /healthz and /readyz, plain HTTP.")
  String metricsAddress = "";

  @Option(
      names = "--resource",
      defaultValue = "${env:TRANCHE_RESOURCE:-nvidia.com/gpu}",
      description =
          "Extended resources that the node plugin advertises, comma-separated; fractions become replicas of the first.")
  String resources = "";

  @Option(
      names = "--default-replicas-per-gpu",
      defaultValue = "${env:TRANCHE_DEFAULT_REPLICAS_PER_GPU:-10}",
      description = "Replicas per GPU where no node that admits the pod is labelled.")
  String defaultReplicasPerGpu = "";

  @Option(
      names = "--gpu-memory-reserve",
      defaultValue = "${env:TRANCHE_GPU_MEMORY_RESERVE:-640Mi}",
      description =
          "The driver's part of a GPU's memory, where a node's labels tell only the total.")
  String gpuMemoryReserve = "";

  @Option(
      names = "--default-gpu-memory",
      defaultValue = "${env:TRANCHE_DEFAULT_GPU_MEMORY:-}",
      description =
          "Total memory of a GPU where no node that admits the pod is labelled; empty refuses requests by memory then.")
  String defaultGpuMemory = "";

  @Option(
      names = "--compat",
      defaultValue = "${env:TRANCHE_COMPAT:-}",
      description = "Other systems whose words are understood, comma-separated: kai, hami.")
  String compat = "";

  @Option(
      names = "--scheduler-name",
      defaultValue = "${env:TRANCHE_SCHEDULER_NAME:-tranche-scheduler}",
      description = "Scheduler of every pod that asks for such a resource; empty leaves it alone.")
  String schedulerName = "";

  @Option(
      names = "--replica-schedulers",
      defaultValue = "${env:TRANCHE_REPLICA_SCHEDULERS:-}",
      description =
          "Other schedulers, comma-separated, whose pods' plain numbers always count replicas.")
  String replicaSchedulers = "";

  @Option(
      names = "--runtime-class",
      defaultValue = "${env:TRANCHE_RUNTIME_CLASS:-nvidia}",
      description =
          "RuntimeClass of such pods, set where it exists and they name none; empty leaves it alone.")
  String runtimeClass = "";

  @Option(
      names = "--authority-life",
      defaultValue = "${env:TRANCHE_AUTHORITY_LIFE:-3650d}",
      description = "Life of a new certificate authority.")
  String authorityLife = "";

  @Option(
      names = "--certificate-life",
      defaultValue = "${env:TRANCHE_CERTIFICATE_LIFE:-90d}",
      description = "Life of a new serving certificate; renewed after two thirds of it.")
  String certificateLife = "";

  @Option(
      names = "--drain-delay",
      defaultValue = "${env:TRANCHE_DRAIN_DELAY:-5s}",
      description =
          "How long it goes on serving after SIGTERM, unready, until Services have left it out.")
  String drainDelay = "";

  @Option(
      names = "--certificates",
      defaultValue = "${env:TRANCHE_CERTIFICATES:-own}",
      description = "Who makes the certificates: own (this process) or cert-manager.")
  String certificates = "";

  @Option(
      names = "--scheduler-client-certificate",
      arity = "0..1",
      fallbackValue = "true",
      defaultValue = "${env:TRANCHE_SCHEDULER_CLIENT_CERTIFICATE:-false}",
      description =
          "Also make the certificate that the cluster's own kube-scheduler shows the extender.")
  boolean schedulerClientCertificate;

  @Option(
      names = "--guard-mode",
      defaultValue = "${env:TRANCHE_GUARD_MODE:-void}",
      description =
          "What the guard does about pods that reach for GPUs they were not given: audit, void or deny.")
  String guardMode = "";

  @Option(
      names = "--guard-assume-default-runtime",
      defaultValue = "${env:TRANCHE_GUARD_ASSUME_DEFAULT_RUNTIME:-true}",
      description =
          "true: the nvidia runtime may serve pods that name no RuntimeClass, so they are guarded too.")
  String guardAssumeDefaultRuntime = "";

  @Option(
      names = "--guard-exempt-service-accounts",
      defaultValue = "${env:TRANCHE_GUARD_EXEMPT_SERVICE_ACCOUNTS:-}",
      description = "Whose pods the guard leaves alone: namespace:name, comma-separated.")
  String guardExemptServiceAccounts = "";

  @Option(
      names = "--kubelet-root",
      defaultValue = "${env:TRANCHE_KUBELET_ROOT:-/var/lib/kubelet}",
      description = "The kubelets' folder; the guard tells of pods that mount its sockets.")
  String kubeletRoot = "";

  @Option(
      names = "--cdi-annotation-prefixes",
      defaultValue = "${env:TRANCHE_CDI_ANNOTATION_PREFIXES:-}",
      description =
          "Annotations that runtimes read as CDI devices, besides cdi.k8s.io/; comma-separated.")
  String cdiAnnotationPrefixes = "";
}
