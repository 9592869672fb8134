package dev.tranche.webhook;

import dev.tranche.process.client.ApiClient;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.LoopWatch;
import dev.tranche.process.meters.Failures;
import dev.tranche.process.meters.Meters;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.mutate.PodUpdate;
import dev.tranche.webhook.nodes.ClusterWatch;
import dev.tranche.webhook.review.AdmissionServer;
import dev.tranche.webhook.review.FractionHandler;
import dev.tranche.webhook.review.GuardHandler;
import dev.tranche.webhook.review.ReviewBodyReader;
import dev.tranche.webhook.review.ReviewHandler;
import dev.tranche.webhook.review.UpdateHandler;
import dev.tranche.webhook.tls.CertificateController;
import dev.tranche.webhook.tls.TlsState;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** Creates the parts of the webhook and connects them. */
final class Webhook {
  private static final long IN_FLIGHT_MS_MAX = 12_000;

  /** From a review's head to the end of its body. */
  private static final long BODY_MS_MAX = 8_000;

  private final WebhookConfig config;
  private final KubernetesClient client;
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions().setEventLoopPoolSize(2));
  private final PrometheusMeterRegistry registry = Meters.prometheusRegistry();
  private final WebhookMetrics metrics = new WebhookMetrics(registry);
  private final ClusterWatch cluster;
  private final AdmissionEvents events;
  private final Readiness readiness;
  private final CertificateController certificateController;
  private final AdmissionServer admission;
  private volatile int metricsPort = -1;
  private final AtomicLong reconciliations = new AtomicLong();

  /**
   * @param clock decides when certificates are due and when they have ended
   */
  Webhook(WebhookConfig config, KubernetesClient client, InstantSource clock) {
    this.config = config;
    this.client = client;
    cluster =
        new ClusterWatch(
            client,
            config.rules().runtimeClass(),
            config.rules().resources(),
            new Failures(
                metrics,
                "Unexpected errors that ended the reading of one node; all others count",
                Failures.NODE),
            clock);
    events = new AdmissionEvents(client, metrics);
    readiness = new Readiness(cluster::missing, clock);
    certificateController =
        new CertificateController(
            client, config.tls(), clock, this::onReconciled, this::onReconcileFailed);
    admission =
        new AdmissionServer(
            config.listen(),
            new ListeningPort(vertx, transport, "admission", AdmissionServer.LIMITS),
            entries(),
            new ReviewBodyReader(vertx, BODY_MS_MAX, metrics),
            metrics);
    metrics.registerProcess();
    metrics.nodes(() -> cluster.nodes().served().size());
    metrics.ready(() -> readiness.missing().isEmpty());
    metrics.certificate("ca", () -> readiness.tlsState().map(TlsState::authority));
    metrics.certificate("webhook", () -> readiness.tlsState().map(s -> s.webhook().certificate()));
    metrics.certificate("extender", () -> readiness.tlsState().map(TlsState::extender));
  }

  static Webhook of(WebhookConfig config) {
    return new Webhook(
        config, ApiClient.open(ClusterWatch.serialization()), InstantSource.system());
  }

  void watchLoops() {
    LoopWatch.start(vertx);
  }

  /** Completes when the probes answer. Reviews are accepted once there is a certificate. */
  Future<Void> start() {
    var port = new ListeningPort(vertx, transport, "metrics", ConnectionLimits.METRICS);
    metrics.connections(port);
    return new OpsPort(registry::scrape, readiness::probe)
        .listen(port, config.metrics())
        .onSuccess(
            server -> {
              metricsPort = server.actualPort();
              cluster.start();
              events.start();
              certificateController.start();
            })
        .mapEmpty();
  }

  /** Called on the CertificateController's thread, so one call at a time. */
  private void onReconciled(TlsState state) {
    await(admission.serve(state.webhook()));
    readiness.reconciled(state);
    reconciliations.incrementAndGet();
  }

  private FractionHandler fraction(MutationRules rules) {
    return new FractionHandler(
        new PodMutator(rules),
        uid -> {
          ClusterWatch.Nodes nodes = cluster.nodes();
          return new Cluster(
              nodes.served(), nodes.foreign(), cluster.runtimeClassExists(), cluster::granted, uid);
        },
        events,
        metrics);
  }

  /**
   * Returns a handler for each path of the MutatingWebhookConfiguration; a namespace's label
   * chooses the guard's mode. All paths exist, whatever the chart's values are, since that object
   * changes before we do. A webhook that is about to be replaced thus serves the new values, too.
   */
  private Map<String, ReviewHandler> entries() {
    var entries = new HashMap<String, ReviewHandler>();
    MutationRules rules = config.rules();
    var withoutHami = new HashSet<>(rules.dialects());
    withoutHami.remove(SharingSystem.HAMI);
    Map.of(
            ReviewKind.FRACTION_PATH, PlainRequests.REPLICAS,
            FractionHandler.PATH_PLAIN_GPUS, PlainRequests.GPUS,
            FractionHandler.PATH_UNCHANGED, PlainRequests.UNCHANGED)
        .forEach(
            (path, plain) -> {
              entries.put(path, fraction(rules.with(plain, rules.dialects())));
              entries.put(
                  path + FractionHandler.WITHOUT_HAMI, fraction(rules.with(plain, withoutHami)));
            });
    var guard = new Guard(config.guard(), cluster::resources);
    entries.put(
        ReviewKind.GUARD_PATH, new GuardHandler(guard, config.guard().mode(), events, metrics));
    for (GuardMode mode : GuardMode.values()) {
      entries.put(
          ReviewKind.GUARD_PATH + "/" + mode, new GuardHandler(guard, mode, events, metrics));
    }
    entries.put(
        UpdateHandler.PATH_FRACTION,
        new UpdateHandler((before, after) -> PodUpdate.restore(before, after, rules), metrics));
    entries.put(UpdateHandler.PATH_GUARD, new UpdateHandler(guard::restore, metrics));
    return entries;
  }

  private void onReconcileFailed(String reason) {
    metrics.tlsFailures.increment();
    readiness.reconcileFailed(reason);
  }

  /** Becomes unready before it stops serving, since Services take a moment to remove this pod. */
  void stop() {
    readiness.draining();
    try {
      admission.startDrain();
      Thread.sleep(config.drainDelay());
      await(admission.shutDown(IN_FLIGHT_MS_MAX));
      certificateController.close();
      cluster.close();
      events.close();
      await(vertx.close());
      client.close();
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }

  int port() {
    return admission.port();
  }

  int metricsPort() {
    return metricsPort;
  }

  /** Returns how many reconciliations of the certificates have succeeded. */
  long reconciliations() {
    return reconciliations.get();
  }

  private static void await(Future<?> future) {
    try {
      future.await(IN_FLIGHT_MS_MAX, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("no answer within " + IN_FLIGHT_MS_MAX + " ms", e);
    }
  }
}
