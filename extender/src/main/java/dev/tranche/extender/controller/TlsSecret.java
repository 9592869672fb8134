package dev.tranche.extender.controller;

import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches our serving certificate, which the webhook creates and renews. It is read through the API
 * and not from a mount, so that neither the first nor a renewed one waits for the kubelet.
 */
public final class TlsSecret implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TlsSecret.class);
  private final ObjectWatch<Secret> watch;
  private final String namespace;
  private final String name;
  private final Consumer<Material> onMaterial;

  /**
   * The content of the Secret.
   *
   * @param authorities the certificate authorities to trust; empty if the Secret has none
   */
  public record Material(PemKeyCertOptions certificate, Optional<PemTrustOptions> authorities) {}

  /**
   * @param onMaterial called with each certificate, on a thread of the client's
   */
  public TlsSecret(
      KubernetesClient client, String namespace, String name, Consumer<Material> onMaterial) {
    this.namespace = namespace;
    this.name = name;
    this.onMaterial = onMaterial;
    this.watch =
        new ObjectWatch<>(
            client.secrets().inNamespace(namespace).withName(name),
            "Secret " + namespace + "/" + name,
            "no node can report",
            this::read);
  }

  public void start() {
    watch.start();
  }

  private void read(Secret secret) {
    Map<String, String> data = secret.getData() == null ? Map.of() : secret.getData();
    Optional<Material> material = material(data);
    material.ifPresent(onMaterial);
    if (material.isEmpty() && has(data, "tls.crt").or(() -> has(data, "tls.key")).isEmpty()) {
      LOG.info("Secret {}/{} is still empty; the webhook writes the certificate", namespace, name);
    } else if (material.isEmpty()) {
      LOG.warn(
          "{}",
          SecretErrors.without(
              namespace, name, "tls.crt or no tls.key", "the webhook writes both"));
    }
  }

  /** Returns what is in a Secret that has both a certificate and its key. */
  static Optional<Material> material(Map<String, String> data) {
    return has(data, "tls.crt")
        .flatMap(
            certificate ->
                has(data, "tls.key")
                    .map(
                        key ->
                            new Material(
                                new PemKeyCertOptions().addCertValue(certificate).addKeyValue(key),
                                has(data, "ca.crt")
                                    .map(ca -> new PemTrustOptions().addCertValue(ca)))));
  }

  /** An empty entry counts as none: a Secret of the type kubernetes.io/tls cannot lack one. */
  private static Optional<Buffer> has(Map<String, String> data, String entry) {
    return Optional.ofNullable(data.get(entry))
        .filter(base64 -> !base64.isEmpty())
        .map(TlsSecret::decoded);
  }

  private static Buffer decoded(String base64) {
    return Buffer.buffer(Base64.getDecoder().decode(base64));
  }

  @Override
  public void close() {
    watch.close();
  }
}
