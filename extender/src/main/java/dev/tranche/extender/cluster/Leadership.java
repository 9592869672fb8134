package dev.tranche.extender.cluster;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which extender decides where several stand behind a Service: the holder of a Lease. The others
 * hear everything, so that each of them can be the next.
 */
public final class Leadership implements AutoCloseable {
  private static final Duration LEASE = Duration.ofSeconds(15);
  private static final Duration RENEW = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(2);

  /** Two of them renew the Lease, and are tried again until that is too late. */
  private static final int CALL_MS = (int) RENEW.dividedBy(2).toMillis();

  /** For the Lease to be released. */
  private static final Duration END = Duration.ofSeconds(3);

  private static final String NOBODY = "nobody yet";
  private static final Logger log = LoggerFactory.getLogger(Leadership.class);

  private final KubernetesClient client;
  private final String namespace;
  private final String lease;
  private final String identity;
  private final Runnable onWon;
  private final Runnable onLost;
  private final LongSupplier clockNs;
  private final Thread thread;

  /** When the Lease was last written by us, or rather when that was begun. */
  private volatile long renewedNs;

  private volatile boolean leading;
  private volatile String leader = NOBODY;

  /**
   * @param client stays the caller's to close
   * @param onWon called when we begin to lead; it does not block
   * @param onLost called when we have ended to; it does not block
   * @param clockNs one that nobody sets
   */
  public Leadership(
      KubernetesClient client,
      String namespace,
      String lease,
      String identity,
      Runnable onWon,
      Runnable onLost,
      LongSupplier clockNs) {
    this.client = ApiClient.once(client, CALL_MS);
    this.namespace = namespace;
    this.lease = lease;
    this.identity = identity;
    this.onWon = onWon;
    this.onLost = onLost;
    this.clockNs = clockNs;
    this.thread = Thread.ofVirtual().name("leadership").unstarted(this::elect);
  }

  public void start() {
    thread.start();
  }

  /** A sentence while another leads, or may. */
  public Optional<String> missing() {
    if (!leading) {
      return Optional.of(
          "Lease %s/%s is held by %s, not by us".formatted(namespace, lease, leader));
    }
    // The elector goes by the wall's clock, and knows nothing while a call hangs or we are frozen.
    return clockNs.getAsLong() - renewedNs < LEASE.toNanos()
        ? Optional.empty()
        : Optional.of(
            "Lease %s/%s was not renewed for %d s, so another may hold it"
                .formatted(namespace, lease, LEASE.toSeconds()));
  }

  /** Tells when the Lease was written. */
  private final class Watched extends LeaseLock {
    private long beganNs;

    Watched() {
      super(namespace, lease, identity);
    }

    /** What is written says the time before it was read. */
    @Override
    public synchronized LeaderElectionRecord get(KubernetesClient reader) {
      beganNs = clockNs.getAsLong();
      return super.get(reader);
    }

    @Override
    public synchronized void create(KubernetesClient writer, LeaderElectionRecord record) {
      super.create(writer, record);
      renewedNs = beganNs;
    }

    @Override
    public synchronized void update(KubernetesClient writer, LeaderElectionRecord record) {
      super.update(writer, record);
      // The elector releases the Lease by an update, too.
      if (identity.equals(record.getHolderIdentity())) {
        renewedNs = beganNs;
      }
    }
  }

  /** A sentence until some extender has led, be it another. */
  public Optional<String> leaderless() {
    return leader.equals(NOBODY)
        ? Optional.of("Lease " + namespace + "/" + lease + " is held by " + NOBODY)
        : Optional.empty();
  }

  /** An elector ends when it loses the lease; then we stand again. */
  private void elect() {
    while (!Thread.currentThread().isInterrupted()) {
      var config =
          new LeaderElectionConfigBuilder()
              .withName(lease)
              .withLock(new Watched())
              .withLeaseDuration(LEASE)
              .withRenewDeadline(RENEW)
              .withRetryPeriod(RETRY)
              .withReleaseOnCancel(true)
              .withLeaderCallbacks(new LeaderCallbacks(this::won, this::lost, this::led))
              .build();
      client.leaderElector().withConfig(config).build().run();
    }
  }

  private void won() {
    leading = true;
    log.info("this extender leads now");
    onWon.run();
  }

  private void lost() {
    leading = false;
    log.info("this extender leads no more");
    onLost.run();
  }

  /**
   * @param by null when the Lease was released
   */
  private void led(@Nullable String by) {
    leader = by == null ? "nobody now" : by;
  }

  @Override
  public void close() {
    leading = false;
    if (!thread.isAlive()) {
      return;
    }
    thread.interrupt();
    try {
      thread.join(END);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }
}
