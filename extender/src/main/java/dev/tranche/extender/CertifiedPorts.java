package dev.tranche.extender;

import dev.tranche.extender.controller.ApiServiceBundle;
import dev.tranche.extender.controller.FrontProxyWatch;
import dev.tranche.extender.controller.TlsSecret;
import dev.tranche.extender.http.ClientCertificates;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemKeyCertOptions;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ports that need a certificate: the node streams' port, the read API's, and the verbs' port if
 * kube-scheduler connects from another pod. The first certificate opens them; later ones replace
 * it. Certificates are applied one after the other. A failed open is retried until there is a newer
 * certificate.
 */
final class CertifiedPorts implements AutoCloseable {
  private static final long OPEN_AGAIN_MS = 500;
  private static final long OPEN_AGAIN_MAX_MS = 30_000;
  private static final Logger LOG = LoggerFactory.getLogger(CertifiedPorts.class);

  private final ExtenderConfig config;
  private final Vertx vertx;
  private final VerbServer verbs;
  private final Function<PemKeyCertOptions, StreamServer> streams;
  private final ReadApi readApi;
  private final Optional<FrontProxyWatch> frontProxy;
  private final Optional<ApiServiceBundle> apiService;
  private final ExtenderMetrics metrics;
  private final TlsSecret secret;
  private volatile @Nullable StreamServer stream;
  private volatile TlsSecret.@Nullable Material newest;
  private final AtomicBoolean withoutAuthorities = new AtomicBoolean();
  private Future<Void> applying = Future.succeededFuture();

  /**
   * @param streams creates the server of the node streams with its certificate
   */
  CertifiedPorts(
      ExtenderConfig config,
      KubernetesClient client,
      Vertx vertx,
      VerbServer verbs,
      Function<PemKeyCertOptions, StreamServer> streams,
      ReadApi readApi,
      ExtenderMetrics metrics) {
    this.config = config;
    this.vertx = vertx;
    this.verbs = verbs;
    this.streams = streams;
    this.readApi = readApi;
    this.metrics = metrics;
    this.frontProxy =
        config.apiAggregated() == null
            ? Optional.empty()
            : Optional.of(new FrontProxyWatch(client, readApi::setFrontProxy));
    this.apiService =
        frontProxy.map(
            watch ->
                new ApiServiceBundle(
                    ApiClient.withoutRetries(client, Extender.API_TIMEOUT_MS), metrics));
    this.secret = new TlsSecret(client, config.namespace(), secretName(), this::onCertificate);
  }

  private String secretName() {
    return config.name() + "-extender-tls";
  }

  void start() {
    secret.start();
    frontProxy.ifPresent(FrontProxyWatch::start);
    apiService.ifPresent(
        bundle -> vertx.setPeriodic(ApiServiceBundle.PERIOD_MS, due -> bundle.check()));
  }

  /** Returns why the ports are not open yet; empty once they are. */
  Optional<String> missing() {
    return stream == null
        ? Optional.of(
            SecretErrors.missing(
                config.namespace(),
                secretName(),
                "the webhook writes the extender's certificate to it"))
        : Optional.empty();
  }

  /** -1 before there is a certificate. */
  int streamPort() {
    StreamServer open = stream;
    return open == null ? -1 : open.port();
  }

  private synchronized void onCertificate(TlsSecret.Material material) {
    newest = material;
    applying = applying.transform(before -> apply(material, OPEN_AGAIN_MS));
  }

  /** Applies a certificate. The future never fails. */
  private Future<Void> apply(TlsSecret.Material material, long againMs) {
    if (!material.equals(newest)) {
      return Future.succeededFuture();
    }
    StreamServer open = stream;
    return (open == null ? open(material) : renew(open, material))
        .onSuccess(
            done -> {
              LOG.info("using the certificate of Secret {}", secretName());
              readApi.setCertificate(material.certificate());
              apiService.ifPresent(bundle -> setBundle(bundle, material));
            })
        .onFailure(e -> LOG.error("cannot use the certificate of Secret {}", secretName(), e))
        .<Void>mapEmpty()
        .recover(
            failed ->
                stream != null
                    ? Future.succeededFuture()
                    : vertx
                        .timer(againMs, TimeUnit.MILLISECONDS)
                        .compose(due -> apply(material, Math.min(2 * againMs, OPEN_AGAIN_MAX_MS))));
  }

  private void setBundle(ApiServiceBundle bundle, TlsSecret.Material material) {
    if (material.authorities().isPresent()) {
      bundle.set(material.authorities().get());
    } else if (withoutAuthorities.compareAndSet(false, true)) {
      LOG.error(
          "{}",
          SecretErrors.without(
              config.namespace(),
              secretName(),
              "ca.crt",
              "the API server verifies the aggregated API by it"));
    }
  }

  private Future<?> open(TlsSecret.Material material) {
    StreamServer server = streams.apply(material.certificate());
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
      return verbs.listen(material.certificate(), clients(material));
    } catch (IllegalStateException unusable) {
      return Future.failedFuture(unusable);
    }
  }

  private Future<?> renew(StreamServer open, TlsSecret.Material material) {
    return open.renew(material.certificate())
        .compose(
            done ->
                config.verbsTls()
                    ? verbs.renew(material.certificate(), clients(material))
                    : Future.succeededFuture(true));
  }

  /** Returns which clients are admitted to the verbs; null if all are. */
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
                        SecretErrors.without(
                            config.namespace(),
                            secretName(),
                            "ca.crt",
                            "kube-scheduler's certificate is verified by it"))),
        config.schedulerClient(),
        metrics::recordClientCertificate);
  }

  @Override
  public void close() {
    secret.close();
    frontProxy.ifPresent(FrontProxyWatch::close);
    apiService.ifPresent(ApiServiceBundle::close);
  }
}
