package dev.tranche.extender;

import dev.tranche.extender.controller.TlsSecret;
import dev.tranche.extender.http.ClientCertificates;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.stream.StreamServer;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemKeyCertOptions;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ports that need a certificate: the streams', and the verbs' where kube-scheduler comes from
 * elsewhere. The first certificate opens them; later ones renew it. One after the other, and an
 * open that fails is tried again until there is a newer certificate.
 */
final class CertifiedPorts implements AutoCloseable {
  private static final long OPEN_AGAIN_MS = 500;
  private static final long OPEN_AGAIN_MAX_MS = 30_000;
  private static final Logger LOG = LoggerFactory.getLogger(CertifiedPorts.class);

  private final ExtenderConfig config;
  private final Vertx vertx;
  private final VerbServer verbs;
  private final Function<PemKeyCertOptions, StreamServer> streams;
  private final Consumer<PemKeyCertOptions> others;
  private final ExtenderMetrics metrics;
  private final TlsSecret secret;
  private volatile @Nullable StreamServer stream;
  private volatile TlsSecret.@Nullable Material newest;
  private Future<Void> uses = Future.succeededFuture();

  /**
   * @param streams makes the server of the nodes' streams, with its certificate
   * @param others hear of each certificate that is in use
   */
  CertifiedPorts(
      ExtenderConfig config,
      KubernetesClient client,
      Vertx vertx,
      VerbServer verbs,
      Function<PemKeyCertOptions, StreamServer> streams,
      Consumer<PemKeyCertOptions> others,
      ExtenderMetrics metrics) {
    this.config = config;
    this.vertx = vertx;
    this.verbs = verbs;
    this.streams = streams;
    this.others = others;
    this.metrics = metrics;
    this.secret = new TlsSecret(client, config.namespace(), secretName(), this::certified);
  }

  private String secretName() {
    return config.name() + "-extender-tls";
  }

  void start() {
    secret.start();
  }

  /** A sentence until the ports are open. */
  Optional<String> missing() {
    return stream == null
        ? Optional.of(
            "Secret %s/%s with our certificate is not there yet; the webhook writes it"
                .formatted(config.namespace(), secretName()))
        : Optional.empty();
  }

  /** -1 before there is a certificate. */
  int streamPort() {
    StreamServer open = stream;
    return open == null ? -1 : open.port();
  }

  private synchronized void certified(TlsSecret.Material material) {
    newest = material;
    uses = uses.transform(before -> use(material, OPEN_AGAIN_MS));
  }

  /** Never fails. */
  private Future<Void> use(TlsSecret.Material material, long againMs) {
    if (!material.equals(newest)) {
      return Future.succeededFuture();
    }
    StreamServer open = stream;
    return (open == null ? open(material) : renew(open, material))
        .onSuccess(
            done -> {
              LOG.info("using the certificate of Secret {}", secretName());
              others.accept(material.served());
            })
        .onFailure(e -> LOG.error("cannot use the certificate of Secret {}", secretName(), e))
        .<Void>mapEmpty()
        .recover(
            failed ->
                stream != null
                    ? Future.succeededFuture()
                    : vertx
                        .timer(againMs, TimeUnit.MILLISECONDS)
                        .compose(due -> use(material, Math.min(2 * againMs, OPEN_AGAIN_MAX_MS))));
  }

  private Future<?> open(TlsSecret.Material material) {
    StreamServer server = streams.apply(material.served());
    return vertx
        .deployVerticle(server)
        .compose(
            deployed ->
                listen(material)
                    .recover(
                        failed ->
                            vertx
                                .undeploy(deployed)
                                .transform(closed -> Future.failedFuture(failed))))
        .onSuccess(listening -> stream = server);
  }

  private Future<Void> listen(TlsSecret.Material material) {
    if (!config.verbsTls()) {
      return Future.succeededFuture();
    }
    try {
      return verbs.listen(material.served(), clients(material));
    } catch (IllegalStateException unusable) {
      return Future.failedFuture(unusable);
    }
  }

  private Future<?> renew(StreamServer open, TlsSecret.Material material) {
    return open.renew(material.served())
        .compose(
            done ->
                config.verbsTls()
                    ? verbs.renew(material.served(), clients(material))
                    : Future.succeededFuture(true));
  }

  /** Who may ask; null where anybody may. */
  private @Nullable ClientCertificates clients(TlsSecret.Material material) {
    if (!config.verbsClientCertificate()) {
      return null;
    }
    return new ClientCertificates(
        material
            .authorities()
            .orElseThrow(
                () ->
                    new IllegalStateException(
                        "Secret %s/%s has no ca.crt, by which kube-scheduler's certificate is known"
                            .formatted(config.namespace(), secretName()))),
        config.schedulerClient(),
        metrics::clientShown);
  }

  @Override
  public void close() {
    secret.close();
  }
}
