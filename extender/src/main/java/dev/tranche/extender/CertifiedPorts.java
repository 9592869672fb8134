package dev.tranche.extender;

import dev.tranche.extender.controller.ApiServiceBundle;
import dev.tranche.extender.controller.FrontProxyWatch;
import dev.tranche.extender.http.ClientCertificates;
import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.client.ObjectWatch;
import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemKeyCertOptions;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ports that need a certificate: the node streams' port, the read API's, and the verbs' port if
 * kube-scheduler connects from another pod. The first certificate opens them; later ones replace
 * it. Certificates are applied one after the other. A failed open is retried until there is a newer
 * certificate.
 *
 * <p>The webhook creates and renews the certificate. It is read through the API and not from a
 * mount, so that neither the first nor a renewed one waits for the kubelet.
 */
final class CertifiedPorts implements AutoCloseable {
  private static final long OPEN_AGAIN_MS = 500;
  private static final long OPEN_AGAIN_MAX_MS = 30_000;
  private static final Logger LOG = LoggerFactory.getLogger(CertifiedPorts.class);

  private final ExtenderConfig config;
  private final Vertx vertx;
  private final Servers servers;
  private final ExtenderMetrics metrics;
  private final String secretName;
  private final ObjectWatch<Secret> secret;
  private final Optional<FrontProxyWatch> frontProxy;
  private final Optional<ApiServiceBundle> apiService;
  private volatile @Nullable StreamServer stream;
  private volatile @Nullable ServingCertificate newest;
  private volatile boolean open;
  private volatile boolean toldOfNoAuthorities;
  private Future<Void> applying = Future.succeededFuture();

  /**
   * What is opened.
   *
   * @param streams creates the server of the node streams with its certificate
   */
  record Servers(
      Function<PemKeyCertOptions, StreamServer> streams, VerbServer verbs, ReadApi readApi) {}

  CertifiedPorts(
      ExtenderConfig config,
      KubernetesClient client,
      Vertx vertx,
      Servers servers,
      ExtenderMetrics metrics) {
    this.config = config;
    this.vertx = vertx;
    this.servers = servers;
    this.metrics = metrics;
    boolean aggregated = config.apiAggregated() != null;
    this.frontProxy =
        aggregated
            ? Optional.of(new FrontProxyWatch(client, servers.readApi()::setFrontProxy))
            : Optional.empty();
    KubernetesClient calls = ApiClient.withoutRetries(client, Extender.API_TIMEOUT_MS);
    this.apiService =
        aggregated ? Optional.of(new ApiServiceBundle(calls, metrics)) : Optional.empty();
    this.secretName = config.name() + "-extender-tls";
    this.secret =
        new ObjectWatch<>(
            client.secrets().inNamespace(config.namespace()).withName(secretName),
            "Secret " + config.namespace() + "/" + secretName,
            "no node can report",
            this::onSecret);
  }

  void start() {
    secret.start();
    frontProxy.ifPresent(FrontProxyWatch::start);
    apiService.ifPresent(
        bundle -> vertx.setPeriodic(ApiServiceBundle.PERIOD_MS, due -> bundle.check()));
  }

  /** Returns why the ports are not open yet; empty once they are. */
  Optional<String> missing() {
    return open
        ? Optional.empty()
        : Optional.of(
            SecretErrors.missing(
                config.namespace(),
                secretName,
                "the webhook writes the extender's certificate to it"));
  }

  /** -1 before there is a certificate. */
  int streamPort() {
    StreamServer server = stream;
    return server == null ? -1 : server.port();
  }

  private synchronized void onSecret(Secret read) {
    ServingCertificate.of(read.getData())
        .ifPresentOrElse(
            certificate -> {
              newest = certificate;
              applying = applying.transform(before -> apply(certificate, OPEN_AGAIN_MS));
            },
            () -> LOG.info("{}", without("tls.crt or no tls.key", "the webhook writes both")));
  }

  /** Applies a certificate. The future never fails. */
  private Future<Void> apply(ServingCertificate certificate, long againMs) {
    if (!certificate.equals(newest)) {
      return Future.succeededFuture();
    }
    return serveStreams(certificate.certificate())
        .compose(serving -> serveVerbs(certificate))
        .onSuccess(
            serving -> {
              LOG.info("using the certificate of Secret {}", secretName);
              open = true;
              servers.readApi().setCertificate(certificate.certificate());
              apiService.ifPresent(bundle -> setBundle(bundle, certificate));
            })
        .onFailure(e -> LOG.error("cannot use the certificate of Secret {}", secretName, e))
        .<Void>mapEmpty()
        .recover(
            failed ->
                open
                    ? Future.succeededFuture()
                    : vertx
                        .timer(againMs, TimeUnit.MILLISECONDS)
                        .compose(
                            due -> apply(certificate, Math.min(2 * againMs, OPEN_AGAIN_MAX_MS))));
  }

  private Future<?> serveStreams(PemKeyCertOptions certificate) {
    StreamServer serving = stream;
    if (serving != null) {
      return serving.renew(certificate);
    }
    StreamServer server = servers.streams().apply(certificate);
    return vertx.deployVerticle(server).onSuccess(deployed -> stream = server);
  }

  private Future<?> serveVerbs(ServingCertificate certificate) {
    if (!config.verbsTls()) {
      return Future.succeededFuture();
    }
    if (!config.verbsClientCertificate()) {
      return servers.verbs().serve(certificate.certificate(), null);
    }
    if (certificate.authorities().isEmpty()) {
      return Future.failedFuture(
          without("ca.crt", "kube-scheduler's certificate is verified by it"));
    }
    var clients =
        new ClientCertificates(
            certificate.authorities().get(),
            config.schedulerClient(),
            metrics::recordClientCertificate);
    return servers.verbs().serve(certificate.certificate(), clients);
  }

  /** Says once that it cannot, since the watch may show the same certificate often. */
  private void setBundle(ApiServiceBundle bundle, ServingCertificate certificate) {
    if (certificate.authorities().isPresent()) {
      bundle.set(certificate.authorities().get());
    } else if (!toldOfNoAuthorities) {
      toldOfNoAuthorities = true;
      LOG.error("{}", without("ca.crt", "the API server verifies the aggregated API by it"));
    }
  }

  private String without(String content, String remedy) {
    return SecretErrors.without(config.namespace(), secretName, content, remedy);
  }

  @Override
  public void close() {
    secret.close();
    frontProxy.ifPresent(FrontProxyWatch::close);
    apiService.ifPresent(ApiServiceBundle::close);
  }
}
