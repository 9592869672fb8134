package dev.tranche.extender;

import dev.tranche.process.client.ObjectWatch;
import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the ports that need a certificate with the first one; later ones replace it. Certificates
 * are applied one after the other. A failed open is retried until there is a newer certificate.
 *
 * <p>The webhook creates and renews the certificate. It is read through the API and not from a
 * mount, so that neither the first nor a renewed one waits for the kubelet.
 */
final class CertifiedPorts implements AutoCloseable {
  private static final long OPEN_AGAIN_MS = 5_000;
  private static final Logger LOG = LoggerFactory.getLogger(CertifiedPorts.class);

  private final Vertx vertx;
  private final String namespace;
  private final String secretName;
  private final boolean aggregated;
  private final Function<ServingCertificate, Future<Void>> ports;
  private final ObjectWatch<Secret> secret;
  private volatile @Nullable ServingCertificate newest;
  private volatile boolean open;
  private boolean toldOfNoAuthorities;
  private Future<Void> applying = Future.succeededFuture();

  /**
   * @param ports open with a certificate, or renew it
   */
  CertifiedPorts(
      ExtenderConfig config,
      KubernetesClient client,
      Vertx vertx,
      Function<ServingCertificate, Future<Void>> ports) {
    this.vertx = vertx;
    this.namespace = config.namespace();
    this.secretName = config.name() + "-extender-tls";
    this.aggregated = config.apiAggregated() != null;
    this.ports = ports;
    this.secret =
        new ObjectWatch<>(
            client,
            api -> api.secrets().inNamespace(namespace).withName(secretName),
            "Secret " + namespace + "/" + secretName,
            "no node can report",
            this::onSecret);
  }

  void start() {
    secret.start();
  }

  /** Returns why the ports are not open yet; empty once they are. */
  Optional<String> missing() {
    return open
        ? Optional.empty()
        : Optional.of(
            SecretErrors.missing(
                namespace, secretName, "the webhook writes the extender's certificate to it"));
  }

  private synchronized void onSecret(Secret read) {
    ServingCertificate.of(read.getData())
        .ifPresentOrElse(
            certificate -> {
              newest = certificate;
              tellOfNoAuthorities(certificate);
              applying = applying.transform(before -> apply(certificate));
            },
            () ->
                LOG.info(
                    "{}",
                    SecretErrors.without(
                        namespace,
                        secretName,
                        "tls.crt or no tls.key",
                        "the webhook writes both")));
  }

  /** Once, since the watch may show the same certificate often. */
  private void tellOfNoAuthorities(ServingCertificate certificate) {
    if (aggregated && certificate.authorities().isEmpty() && !toldOfNoAuthorities) {
      toldOfNoAuthorities = true;
      LOG.error(
          "{}",
          SecretErrors.without(
              namespace, secretName, "ca.crt", "the API server verifies the aggregated API by it"));
    }
  }

  /** Applies a certificate. The future never fails. */
  private Future<Void> apply(ServingCertificate certificate) {
    if (!certificate.equals(newest)) {
      return Future.succeededFuture();
    }
    return Future.succeededFuture()
        .compose(start -> ports.apply(certificate))
        .onSuccess(
            done -> {
              LOG.info("using the certificate of Secret {}", secretName);
              open = true;
            })
        .onFailure(e -> LOG.error("cannot use the certificate of Secret {}", secretName, e))
        .recover(
            failed ->
                open
                    ? Future.succeededFuture()
                    : vertx
                        .timer(OPEN_AGAIN_MS, TimeUnit.MILLISECONDS)
                        .compose(due -> apply(certificate)));
  }

  @Override
  public void close() {
    secret.close();
  }
}
