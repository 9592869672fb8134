package dev.tranche.webhook.tls;

import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.Semaphore;
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
  private static final Duration INTERVAL_MAX = Duration.ofSeconds(30);
  private static final Duration INTERVAL_MIN = Duration.ofSeconds(1);

  /** One reconciliation. Any number of replicas may run it at the same time. */
  private final Supplier<TlsState> reconciliation;

  private final Duration interval;
  private final Consumer<TlsState> onReconciled;
  private final Consumer<String> onFailure;
  private final Semaphore wake = new Semaphore(0);
  private final SharedIndexInformer<MutatingWebhookConfiguration> configuration;
  private final Thread thread;
  private volatile boolean closed;

  /** The failure that was logged last. Confined to the controller's thread. */
  private String lastLogged = "";

  /**
   * How certificates are made.
   *
   * @param certManager whether cert-manager makes them; the rest is then its task
   * @param schedulerClient whether to also make the certificate that the cluster's own
   *     kube-scheduler presents to the extender
   */
  public record CertificateOptions(
      boolean certManager, Duration authorityLife, Duration servingLife, boolean schedulerClient) {}

  /**
   * @param onReconciled receives the state after each successful reconciliation, on the
   *     controller's thread
   * @param onFailure receives a sentence after each failed reconciliation
   */
  public CertificateController(
      KubernetesClient client,
      TlsNames names,
      CertificateOptions options,
      InstantSource clock,
      Consumer<TlsState> onReconciled,
      Consumer<String> onFailure) {
    var store = new TlsStore(client, names);
    this.reconciliation =
        options.certManager()
            ? new CertManagerReconciler(store, names, clock)::reconcile
            : new SelfSignedReconciler(store, names, options, clock)::reconcile;
    this.interval = interval(options.servingLife());
    this.onReconciled = onReconciled;
    this.onFailure = onFailure;
    configuration =
        client
            .admissionRegistration()
            .v1()
            .mutatingWebhookConfigurations()
            .withName(names.configuration())
            .runnableInformer(0)
            .exceptionHandler((started, failure) -> true)
            .addEventHandler(new Wake());
    thread = Thread.ofPlatform().name("tls-keeper").daemon().unstarted(this::run);
  }

  public void start() {
    thread.start();
    var _ = configuration.start();
  }

  /** A tenth of a certificate's life, so that a renewal has many chances. */
  static Duration interval(Duration servingLife) {
    Duration tenth = servingLife.dividedBy(10);
    return tenth.compareTo(INTERVAL_MAX) > 0
        ? INTERVAL_MAX
        : tenth.compareTo(INTERVAL_MIN) < 0 ? INTERVAL_MIN : tenth;
  }

  private void run() {
    Duration pause = INTERVAL_MIN;
    while (!Thread.currentThread().isInterrupted()) {
      try {
        TlsState state = reconciliation.get();
        onReconciled.accept(state);
        // Until the chart's last object is there, look often.
        pause = state.missing().isPresent() ? INTERVAL_MIN : interval;
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
        pause = pause.multipliedBy(2).compareTo(interval) > 0 ? interval : pause.multipliedBy(2);
      }
      await(pause);
    }
  }

  /** Logs a reason once, since a cause that needs a person lasts for hours. */
  private void logOnce(String reason, Throwable e) {
    if (!reason.equals(lastLogged)) {
      LOG.warn("{}; retrying at least every {} s", reason, interval.toSeconds(), e);
      lastLogged = reason;
    }
  }

  private void await(Duration pause) {
    try {
      if (wake.tryAcquire(pause.toMillis(), TimeUnit.MILLISECONDS)) {
        wake.drainPermits();
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    configuration.stop();
    thread.interrupt();
  }

  private final class Wake implements ResourceEventHandler<MutatingWebhookConfiguration> {
    @Override
    public void onAdd(MutatingWebhookConfiguration added) {
      wake.release();
    }

    @Override
    public void onUpdate(MutatingWebhookConfiguration before, MutatingWebhookConfiguration now) {
      wake.release();
    }

    @Override
    public void onDelete(MutatingWebhookConfiguration deleted, boolean finalStateUnknown) {
      wake.release();
    }
  }
}
