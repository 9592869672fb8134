package dev.tranche.webhook;

import static dev.tranche.webhook.WebhookSetting.AUTHORITY_LIFE;
import static dev.tranche.webhook.WebhookSetting.CDI_ANNOTATION_PREFIXES;
import static dev.tranche.webhook.WebhookSetting.CERTIFICATES;
import static dev.tranche.webhook.WebhookSetting.CERTIFICATE_LIFE;
import static dev.tranche.webhook.WebhookSetting.COMPAT;
import static dev.tranche.webhook.WebhookSetting.DEFAULT_GPU_MEMORY;
import static dev.tranche.webhook.WebhookSetting.DEFAULT_REPLICAS_PER_GPU;
import static dev.tranche.webhook.WebhookSetting.DRAIN_DELAY;
import static dev.tranche.webhook.WebhookSetting.GPU_MEMORY_RESERVE;
import static dev.tranche.webhook.WebhookSetting.GUARD_ASSUME_DEFAULT_RUNTIME;
import static dev.tranche.webhook.WebhookSetting.GUARD_EXEMPT_SERVICE_ACCOUNTS;
import static dev.tranche.webhook.WebhookSetting.GUARD_MODE;
import static dev.tranche.webhook.WebhookSetting.KUBELET_ROOT;
import static dev.tranche.webhook.WebhookSetting.LISTEN_ADDRESS;
import static dev.tranche.webhook.WebhookSetting.MEMORY_LIMITS_REQUIRED;
import static dev.tranche.webhook.WebhookSetting.MEMORY_LIMIT_OPT_OUT;
import static dev.tranche.webhook.WebhookSetting.METRICS_ADDRESS;
import static dev.tranche.webhook.WebhookSetting.NAME;
import static dev.tranche.webhook.WebhookSetting.NAMESPACE;
import static dev.tranche.webhook.WebhookSetting.REPLICA_SCHEDULERS;
import static dev.tranche.webhook.WebhookSetting.RESOURCE;
import static dev.tranche.webhook.WebhookSetting.RUNTIME_CLASS;
import static dev.tranche.webhook.WebhookSetting.SCHEDULER_CLIENT_CERTIFICATE;
import static dev.tranche.webhook.WebhookSetting.SCHEDULER_NAME;

import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.process.settings.HostPort;
import dev.tranche.process.settings.Settings;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.tls.TlsConfig;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The effective configuration.
 *
 * @param tls how certificates are made
 * @param listen address of the webhook, TLS
 * @param metrics address of /metrics and the probes, plain HTTP
 * @param rules rules for pods that request GPUs
 * @param drainDelay time from SIGTERM until no more connections are accepted
 * @param guard rules for pods that reach for GPUs that they were not given
 */
record WebhookConfig(
    TlsConfig tls,
    HostPort listen,
    HostPort metrics,
    MutationRules rules,
    Duration drainDelay,
    GuardRules guard) {
  private static final Pattern ANNOTATION_PREFIX =
      Pattern.compile("[a-z0-9][-a-z0-9.]{0,252}/[-A-Za-z0-9_.]{0,62}");
  private static final String DURATION_MAX = "999999d";

  static WebhookConfig of(Settings<WebhookSetting> settings) {
    return new Reader(settings).read();
  }

  /** Continues after an error, so that all errors are reported at once. */
  private record Reader(Settings<WebhookSetting> settings) {
    WebhookConfig read() {
      List<String> resources = settings.resources(RESOURCE);
      return new WebhookConfig(
          tls(),
          settings.hostPort(LISTEN_ADDRESS),
          settings.hostPort(METRICS_ADDRESS),
          new MutationRules(
              resources,
              // The kubelet accepts at most this many devices of a resource in one message.
              settings.number(DEFAULT_REPLICAS_PER_GPU, "", 1, RequestBounds.REPLICAS_MAX),
              settings.dnsLabelOrNone(SCHEDULER_NAME),
              settings.dnsLabelOrNone(RUNTIME_CLASS),
              new MutationRules.Memory(memory(GPU_MEMORY_RESERVE), optionalMemory(), limits()),
              Set.copyOf(settings.someOf(COMPAT, List.of(SharingSystem.values()))),
              MutationRules.PlainRequests.REPLICAS,
              Set.copyOf(settings.dnsLabels(REPLICA_SCHEDULERS))),
          settings.duration(DRAIN_DELAY, "0s", DURATION_MAX),
          guard(resources));
    }

    private TlsConfig tls() {
      Duration authority = settings.duration(AUTHORITY_LIFE, "60s", DURATION_MAX);
      Duration certificate = settings.duration(CERTIFICATE_LIFE, "30s", DURATION_MAX);
      if (certificate.compareTo(authority) > 0) {
        String allowed = "at most --authority-life, since the CA signs the certificate";
        settings.reportInvalid(CERTIFICATE_LIFE, allowed);
      }
      return new TlsConfig(
          settings.dnsLabel(NAME, Settings.NAME_CHARS_MAX),
          settings.dnsLabel(NAMESPACE, Settings.DNS_LABEL_CHARS_MAX),
          settings.isSecond(CERTIFICATES, "own", "cert-manager"),
          authority,
          certificate,
          settings.isTrue(SCHEDULER_CLIENT_CERTIFICATE));
    }

    private GuardRules guard(List<String> resources) {
      String root = settings.text(KUBELET_ROOT);
      if (!root.startsWith("/")) {
        settings.reportInvalid(KUBELET_ROOT, "an absolute path");
      }
      return new GuardRules(
          settings.oneOf(GUARD_MODE, List.of(GuardMode.values())),
          settings.isTrue(GUARD_ASSUME_DEFAULT_RUNTIME),
          Set.copyOf(
              settings.list(
                  GUARD_EXEMPT_SERVICE_ACCOUNTS,
                  Settings.SERVICE_ACCOUNT,
                  Settings.SERVICE_ACCOUNT_ALLOWED)),
          resources,
          root,
          settings.list(
              CDI_ANNOTATION_PREFIXES,
              ANNOTATION_PREFIX,
              "the beginning of an annotation's key with its domain, for example"
                  + " example.cdi.k8s.io/"));
    }

    private MutationRules.Limits limits() {
      return new MutationRules.Limits(
          settings.isTrue(MEMORY_LIMITS_REQUIRED), settings.isTrue(MEMORY_LIMIT_OPT_OUT));
    }

    private long optionalMemory() {
      return settings.text(DEFAULT_GPU_MEMORY).isEmpty() ? 0 : memory(DEFAULT_GPU_MEMORY);
    }

    private long memory(WebhookSetting setting) {
      OptionalLong bytes = Quantity.parse(settings.text(setting));
      if (bytes.isEmpty()) {
        settings.reportInvalid(setting, "an amount of memory, for example 640Mi");
      }
      return bytes.orElse(0);
    }
  }
}
