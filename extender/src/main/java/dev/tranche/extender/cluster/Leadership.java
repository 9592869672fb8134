package dev.tranche.extender.cluster;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which extender decides where several stand behind a Service: the holder of a Lease. The others
 * hear everything and are not ready.
 */
public final class Leadership implements AutoCloseable {
  private static final Duration LEASE = Duration.ofSeconds(15);
  private static final Duration RENEW = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(2);
  private static final Logger log = LoggerFactory.getLogger(Leadership.class);

  private final KubernetesClient client;
  private final String namespace;
  private final String lease;
  private final String identity;
  private final Thread thread;
  private volatile boolean leading;
  private volatile String leader = "nobody yet";

  public Leadership(KubernetesClient client, String namespace, String lease, String identity) {
    this.client = client;
    this.namespace = namespace;
    this.lease = lease;
    this.identity = identity;
    this.thread = Thread.ofVirtual().name("leadership").unstarted(this::elect);
  }

  public void start() {
    thread.start();
  }

  /** A sentence while another leads. */
  public Optional<String> missing() {
    return leading
        ? Optional.empty()
        : Optional.of("Lease " + namespace + "/" + lease + " is held by " + leader + ", not by us");
  }

  /** An elector ends when it loses the lease; then we stand again. */
  private void elect() {
    while (!Thread.currentThread().isInterrupted()) {
      var config =
          new LeaderElectionConfigBuilder()
              .withName(lease)
              .withLock(new LeaseLock(namespace, lease, identity))
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
  }

  private void lost() {
    leading = false;
    log.info("this extender leads no more");
  }

  private void led(String by) {
    leader = by;
  }

  @Override
  public void close() {
    leading = false;
    thread.interrupt();
  }
}
