package dev.tranche.webhook.tls;

import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.bouncycastle.asn1.x509.KeyPurposeId;

/** Certificates for servers in tests. */
public final class Pairs {
  private Pairs() {}

  public static TlsKeyPair serving(String dnsName) {
    return signedBy(authority(), dnsName);
  }

  public static TlsKeyPair authority() {
    return new Issuer(Instant.now()).authority("test", Duration.ofDays(1));
  }

  public static TlsKeyPair signedBy(TlsKeyPair authority, String dnsName) {
    return new Issuer(Instant.now())
        .issue(authority, KeyPurposeId.id_kp_serverAuth, List.of(dnsName), Duration.ofDays(1));
  }

  /** The settings of an installation named tranche. */
  public static TlsConfig config(
      String namespace, Duration authorityLife, Duration servingLife, boolean schedulerClient) {
    return new TlsConfig("tranche", namespace, false, authorityLife, servingLife, schedulerClient);
  }

  /** Creates the empty Secrets, as the chart does. */
  public static void createSecrets(KubernetesClient client, String namespace) {
    for (String name :
        List.of(
            "tranche-ca",
            "tranche-webhook-tls",
            "tranche-extender-tls",
            "tranche-scheduler-client-tls")) {
      client
          .secrets()
          .resource(
              new SecretBuilder()
                  .withNewMetadata()
                  .withName(name)
                  .withNamespace(namespace)
                  .addToAnnotations("helm.sh/resource-policy", "keep")
                  .endMetadata()
                  .build())
          .create();
    }
  }
}
