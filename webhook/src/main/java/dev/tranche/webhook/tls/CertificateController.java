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
 * Keeps the certificates, on a thread of its own: at the start, at intervals, and at once when
 * somebody changes the MutatingWebhookConfiguration.
 */
public final class CertificateController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CertificateController.class);
  private static final Duration INTERVAL_MAX = Duration.ofSeconds(30);
  private static final Duration INTERVAL_MIN = Duration.ofSeconds(1);

  /** One of keeping; any number of replicas may go through it at once. */
  private final Supplier<TlsState> round;

  private final Duration interval;
  private final Consumer<TlsState> kept;
  private final Consumer<String> failed;
  private final Semaphore wake = new Semaphore(0);
  private final SharedIndexInformer<MutatingWebhookConfiguration> configuration;
  private final Thread thread;
  private volatile boolean closed;

  /** The keeper's thread's alone. */
  private String told = "";

  /**
   * How certificates come to be.
   *
   * @param foreign cert-manager makes them; then the rest is its affair
   * @param schedulerClient also one that a kube-scheduler of the cluster's shows the extender
   */
  public record Making(
      boolean foreign, Duration authorityLife, Duration servingLife, boolean schedulerClient) {}

  /**
   * @param kept gets the state after each round that succeeded, on the keeper's thread
   * @param failed gets a sentence after each that did not
   */
  public CertificateController(
      KubernetesClient client,
      TlsNames names,
      Making making,
      InstantSource clock,
      Consumer<TlsState> kept,
      Consumer<String> failed) {
    var store = new TlsStore(client, names);
    this.round =
        making.foreign()
            ? new CertManagerReconciler(store, names, clock)::keep
            : new SelfSignedReconciler(store, names, making, clock)::keep;
    this.interval = interval(making.servingLife());
    this.kept = kept;
    this.failed = failed;
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
        TlsState state = round.get();
        kept.accept(state);
        // Until the chart's last object is there, look often.
        pause = state.missing().isPresent() ? INTERVAL_MIN : interval;
        told = "";
      } catch (Throwable e) {
        // Future.await throws what the future failed with, checked or not, as when a port is taken.
        // Whatever it was, certificates end if nobody keeps them.
        if (closed) {
          return;
        }
        String reason = "certificates are not kept or not served: " + e;
        tell(reason, e);
        failed.accept(reason);
        pause = pause.multipliedBy(2).compareTo(interval) > 0 ? interval : pause.multipliedBy(2);
      }
      await(pause);
    }
  }

  /** Once, since a cause that needs a person stays for hours. */
  private void tell(String reason, Throwable e) {
    if (!reason.equals(told)) {
      LOG.warn("{}; retrying at least every {} s", reason, interval.toSeconds(), e);
      told = reason;
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
