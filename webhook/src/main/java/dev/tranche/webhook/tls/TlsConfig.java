package dev.tranche.webhook.tls;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * How certificates are made. The names of the objects and certificates derive from the
 * installation's name.
 *
 * @param name the installation's name, {@code tranche}
 * @param namespace the installation's namespace
 * @param certManager whether cert-manager makes them; the rest is then its task
 * @param schedulerClient whether to also make the certificate that the cluster's own kube-scheduler
 *     presents to the extender
 */
public record TlsConfig(
    String name,
    String namespace,
    boolean certManager,
    Duration authorityLife,
    Duration servingLife,
    boolean schedulerClient) {
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
    return schedulerClientName() + "-tls";
  }

  /** The name in the client certificate, which the extender checks. */
  String schedulerClientName() {
    return name + "-scheduler-client";
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
    String inNamespace = service + "." + namespace;
    return List.of(service, inNamespace, inNamespace + ".svc", inNamespace + ".svc.cluster.local");
  }
}
