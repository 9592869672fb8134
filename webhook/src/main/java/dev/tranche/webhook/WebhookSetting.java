package dev.tranche.webhook;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.ProcessSetting;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.Map;

/** The settings of the webhook. */
enum WebhookSetting implements ProcessSetting {
  NAME(
      "tranche",
      "Name of the installation; Secrets, Services and the configuration derive from it."),
  NAMESPACE("", "Namespace of the installation; by the downward API."),
  LISTEN_ADDRESS("0.0.0.0:8443", "Host and port of the webhook, TLS."),
  METRICS_ADDRESS("0.0.0.0:9090", "Host and port of /metrics, /healthz and /readyz, plain HTTP."),
  RESOURCE(
      "nvidia.com/gpu",
      "Extended resources that the node plugin advertises, comma-separated; fractions become replicas of the first."),
  DEFAULT_REPLICAS_PER_GPU("10", "Replicas per GPU where no node that admits the pod is labelled."),
  GPU_MEMORY_RESERVE(
      "640Mi", "The driver's part of a GPU's memory, where a node's labels tell only the total."),
  DEFAULT_GPU_MEMORY(
      "",
      "Total memory of a GPU where no node that admits the pod is labelled; empty refuses requests by memory then."),
  COMPAT("", "Other systems whose words are understood, comma-separated: kai, hami."),
  SCHEDULER_NAME(
      "tranche-scheduler",
      "Scheduler of every pod that asks for such a resource; empty leaves it alone."),
  REPLICA_SCHEDULERS(
      "", "Other schedulers, comma-separated, whose pods' plain numbers always count replicas."),
  RUNTIME_CLASS(
      "nvidia",
      "RuntimeClass of such pods, set where it exists and they name none; empty leaves it alone."),
  AUTHORITY_LIFE("3650d", "Life of a new certificate authority."),
  CERTIFICATE_LIFE("90d", "Life of a new serving certificate; renewed after two thirds of it."),
  DRAIN_DELAY(
      "5s", "How long it goes on serving after SIGTERM, unready, until Services have left it out."),
  CERTIFICATES("own", "Who makes the certificates: own (this process) or cert-manager."),
  SCHEDULER_CLIENT_CERTIFICATE(
      "false",
      "Also make the certificate that the cluster's own kube-scheduler shows the extender."),
  GUARD_MODE(
      "void",
      "What the guard does about pods that reach for GPUs they were not given: audit, void or deny."),
  GUARD_ASSUME_DEFAULT_RUNTIME(
      "true",
      "true: the nvidia runtime may serve pods that name no RuntimeClass, so they are guarded too."),
  GUARD_EXEMPT_SERVICE_ACCOUNTS(
      "", "Whose pods the guard leaves alone: namespace:name, comma-separated."),
  KUBELET_ROOT(
      "/var/lib/kubelet", "The kubelets' folder; the guard tells of pods that mount its sockets."),
  CDI_ANNOTATION_PREFIXES(
      "", "Annotations that runtimes read as CDI devices, besides cdi.k8s.io/; comma-separated.");

  private static final String DUTY =
      "Turns fractions of GPUs into replicas at admission; owns the TLS material.";

  private final String fallback;
  private final String meaning;

  WebhookSetting(String fallback, String meaning) {
    this.fallback = fallback;
    this.meaning = meaning;
  }

  static Settings<WebhookSetting> read(
      List<String> args, Map<String, String> env, ConfigErrors errors) {
    return Settings.read(WebhookSetting.class, args, env, errors);
  }

  static String help() {
    return Settings.help(WebhookSetting.class, DUTY);
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
