package dev.tranche.webhook.tls;

import java.util.List;
import java.util.stream.Stream;

/**
 * Where the certificates lie and whom they are for, all derived from one name.
 *
 * @param name of the installation, {@code tranche}
 * @param namespace of its parts
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

  /** What a kube-scheduler of the cluster's shows the extender, where one asks it. */
  String schedulerClientSecret() {
    return schedulerClient() + "-tls";
  }

  /** The certificate's name, which the extender looks for. */
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
