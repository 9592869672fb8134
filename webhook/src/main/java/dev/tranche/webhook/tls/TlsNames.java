package dev.tranche.webhook.tls;

import java.util.List;
import java.util.stream.Stream;

/**
 * The names of the TLS objects and the certificates, all derived from the installation's name.
 *
 * @param name the installation's name, {@code tranche}
 * @param namespace the installation's namespace
 */
public record TlsNames(String name, String namespace) {
  /** Secret with {@code ca.crt} and {@code ca.key}; only the webhook reads it. */
  String authoritySecret() {
    return name + "-ca";
  }

  /** ConfigMap with {@code ca.crt}: all authorities to trust, PEM. */
  String bundleConfigMap() {
    return name + "-ca";
  }

  String webhookSecret() {
    return name + "-webhook-tls";
  }

  String extenderSecret() {
    return name + "-extender-tls";
  }

  /** Secret with the certificate that the cluster's own kube-scheduler presents to the extender. */
  String schedulerClientSecret() {
    return schedulerClient() + "-tls";
  }

  /** The name in the client certificate, which the extender checks. */
  String schedulerClient() {
    return name + "-scheduler-client";
  }

  /** The MutatingWebhookConfiguration. */
  String configuration() {
    return name;
  }

  List<String> webhookDnsNames() {
    return service(name + "-webhook");
  }

  List<String> extenderDnsNames() {
    return Stream.of(name + "-extender", name + "-extender-stream")
        .flatMap(service -> service(service).stream())
        .toList();
  }

  private List<String> service(String service) {
    return List.of(
        service,
        service + "." + namespace,
        service + "." + namespace + ".svc",
        service + "." + namespace + ".svc.cluster.local");
  }
}
