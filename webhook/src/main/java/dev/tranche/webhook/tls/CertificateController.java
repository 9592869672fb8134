package dev.tranche.webhook.tls;

import dev.tranche.api.Backoff;
import dev.tranche.process.client.ObjectWatch;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.InstantSource;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reconciles the certificates on a thread of its own: at the start, at intervals, and at once when
 * the MutatingWebhookConfiguration changes.
 */
public final class CertificateController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CertificateController.class);
  private static final long MS_MIN = 1_000;
  private static final long MS_MAX = 30_000;

  /** One reconciliation. Any number of replicas may run it at the same time. */
  private final Supplier<TlsState> reconciliation;

  private final long intervalMs;
  private final Consumer<TlsState> onReconciled;
  private final Consumer<String> onFailure;
  private final BlockingQueue<MutatingWebhookConfiguration> changed = new ArrayBlockingQueue<>(1);
  private final ObjectWatch<MutatingWebhookConfiguration> configuration;
  private final Thread thread;
  private volatile boolean closed;

  /** The failure that was logged last. Confined to the controller's thread. */
  private String lastLogged = "";

  /**
   * @param onReconciled receives the state after each successful reconciliation, on the
   *     controller's thread
   * @param onFailure receives a sentence after each failed reconciliation
   */
  public CertificateController(
      KubernetesClient client,
      TlsConfig config,
      InstantSource clock,
      Consumer<TlsState> onReconciled,
      Consumer<String> onFailure) {
    var store = new TlsStore(client, config);
    this.reconciliation =
        config.certManager()
            ? new CertManagerReconciler(store, config, clock)::reconcile
            : new SelfSignedReconciler(store, config, clock)::reconcile;
    // A tenth of a certificate's life, so that a renewal has many chances.
    this.intervalMs = Math.clamp(config.servingLife().toMillis() / 10, MS_MIN, MS_MAX);
    this.onReconciled = onReconciled;
    this.onFailure = onFailure;
    this.configuration =
        new ObjectWatch<>(
            client,
            api -> new TlsStore(api, config).configuration(),
            "MutatingWebhookConfiguration " + config.name(),
            "the API server sends no reviews",
            changed::offer);
    this.thread = Thread.ofPlatform().name("tls-keeper").daemon().unstarted(this::run);
  }

  public void start() {
    thread.start();
    configuration.start();
  }

  private void run() {
    var backoff = new Backoff(MS_MIN, intervalMs);
    while (!closed) {
      long pauseMs;
      try {
        TlsState state = reconciliation.get();
        onReconciled.accept(state);
        // Until the chart's last object is there, look often.
        pauseMs = state.missing().isPresent() ? MS_MIN : intervalMs;
        backoff.reset();
        lastLogged = "";
      } catch (Throwable e) {
        // Future.await throws whatever the future failed with, checked or not, for example when a
        // port is in use. The loop must go on in any case, or the certificates expire.
        if (closed) {
          return;
        }
        String reason = "cannot renew or serve the certificates: " + e;
        logOnce(reason, e);
        onFailure.accept(reason);
        pauseMs = backoff.next();
      }
      awaitChange(pauseMs);
    }
  }

  /** Logs a reason once, since a cause that needs a person lasts for hours. */
  private void logOnce(String reason, Throwable e) {
    if (!reason.equals(lastLogged)) {
      LOG.warn("{}; retrying at least every {} s", reason, intervalMs / 1_000, e);
      lastLogged = reason;
    }
  }

  private void awaitChange(long pauseMs) {
    try {
      var _ = changed.poll(pauseMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    configuration.close();
    thread.interrupt();
  }
}
