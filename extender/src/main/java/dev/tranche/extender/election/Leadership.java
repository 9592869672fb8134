package dev.tranche.extender.election;

import static dev.tranche.extender.election.LeaseElection.holder;

import dev.tranche.extender.election.LeaseElection.Moment;
import dev.tranche.extender.election.LeaseElection.Write;
import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.api.model.coordination.v1.Lease;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Elects which extender decides if several are behind a Service: the holder of a Lease. The others
 * receive all reports and watches, so that each of them can be the next leader. {@link
 * LeaseElection} has the rules.
 */
public final class Leadership {
  private static final Duration RETRY = Duration.ofSeconds(2);

  /**
   * The timeout of one call. A renewal takes two calls, and can be retried before it is too late.
   */
  private static final int CALL_MS = (int) LeaseElection.VALID.dividedBy(4).toMillis();

  /** How long to wait for a call under way to end. */
  private static final Duration END = Duration.ofSeconds(3);

  private static final String NOBODY = "nobody yet";
  private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);

  private final KubernetesClient client;
  private final String namespace;
  private final String name;
  private final String identity;
  private final Listener listener;
  private final Supplier<Moment> clock;
  private final LeaseElection election;
  private final Thread thread;
  private volatile boolean stopping;
  private volatile boolean leading;
  private volatile long term;
  private volatile String leader = NOBODY;

  /** What is told of changes; must not block. */
  public interface Listener {
    /** This process leads from now on. */
    void lead();

    /** This process has stopped leading. */
    void retire();
  }

  /**
   * Who takes part in which election.
   *
   * @param lease a name in the namespace
   */
  public record Candidate(String namespace, String lease, String identity) {}

  /**
   * @param client stays the caller's to close
   */
  public Leadership(KubernetesClient client, Candidate candidate, Listener listener) {
    this(client, candidate, listener, Moment::now);
  }

  Leadership(
      KubernetesClient client, Candidate candidate, Listener listener, Supplier<Moment> clock) {
    this.client = ApiClient.withoutRetries(client, CALL_MS);
    this.namespace = candidate.namespace();
    this.name = candidate.lease();
    this.identity = candidate.identity();
    this.listener = listener;
    this.clock = clock;
    this.election = new LeaseElection(identity);
    this.thread = Thread.ofVirtual().name("leadership").unstarted(this::elect);
  }

  public void start() {
    thread.start();
  }

  /** Returns why another replica leads or may lead; empty while we lead. Safe on any thread. */
  public Optional<String> missing() {
    if (!leading) {
      return Optional.of(
          "Lease %s/%s is held by %s, not by this process".formatted(namespace, name, leader));
    }
    // The election's thread can't tell while a call hangs or the process is suspended.
    return election.valid(clock.get())
        ? Optional.empty()
        : Optional.of(
            "Lease %s/%s was not renewed for %d s, so another process may acquire it"
                .formatted(namespace, name, LeaseElection.VALID.toSeconds()));
  }

  /**
   * Returns how often we have begun to lead; may be called on any thread. A decision of an earlier
   * term is not carried out in a later one, since another may have led in between.
   */
  public long term() {
    return term;
  }

  /** Returns that nobody leads; empty once some extender, this one or another, has led. */
  public Optional<String> leaderless() {
    return leader.equals(NOBODY)
        ? Optional.of("Lease " + namespace + "/" + name + " is held by " + NOBODY)
        : Optional.empty();
  }

  private void elect() {
    while (!stopping) {
      try {
        electOnce();
      } catch (Throwable failed) {
        // Errors too: without this thread this replica would never lead again.
        unreachable(failed);
      }
      pause();
    }
  }

  private void electOnce() {
    Moment began = clock.get();
    @Nullable Lease found = lease().get();
    @Nullable LeaseSpec spec = found == null ? null : found.getSpec();
    Optional<Write> next = election.nextWrite(spec, began);
    if (next.isEmpty()) {
      leader = holder(spec);
      stopLeading();
    } else if (!stopping) {
      write(found, next.get().spec());
      election.written(next.get(), began);
      leader = identity;
      lead(next.get().renewal());
    }
  }

  /**
   * Writes only over the version that was read, so that one of two concurrent writes is refused.
   */
  private void write(@Nullable Lease found, LeaseSpec spec) {
    if (found == null) {
      var created =
          new LeaseBuilder()
              .withNewMetadata()
              .withNamespace(namespace)
              .withName(name)
              .endMetadata()
              .withSpec(spec)
              .build();
      client.leases().inNamespace(namespace).resource(created).create();
    } else {
      var renewed = new LeaseBuilder(found).withSpec(spec).build();
      client
          .leases()
          .inNamespace(namespace)
          .resource(renewed)
          .lockResourceVersion(found.getMetadata().getResourceVersion())
          .update();
    }
  }

  private Resource<Lease> lease() {
    return client.leases().inNamespace(namespace).withName(name);
  }

  /**
   * Handles a failed call. It will be retried, since the Lease may not be lost yet; once it is, we
   * stop leading.
   */
  private void unreachable(Throwable failed) {
    if (stopping) {
      return;
    }
    LOG.info("cannot update Lease {}/{}, will retry: {}", namespace, name, failed.toString());
    if (leading && !election.valid(clock.get())) {
      stopLeading();
    }
  }

  private void lead(boolean renewal) {
    if (leading && renewal) {
      return;
    }
    synchronized (this) {
      if (stopping) {
        return;
      }
      term++;
      leading = true;
    }
    LOG.info("became leader");
    listener.lead();
  }

  private void stopLeading() {
    election.lost();
    boolean led;
    synchronized (this) {
      led = leading;
      leading = false;
    }
    if (led) {
      LOG.info("stopped leading");
      listener.retire();
    }
  }

  /** Sleeps with jitter, so that the replicas don't all retry at once. */
  private void pause() {
    try {
      Thread.sleep(RETRY.plusMillis(ThreadLocalRandom.current().nextLong(RETRY.toMillis() / 4)));
    } catch (InterruptedException end) {
      stopping = true;
    }
  }

  /** Stops leading and leaves the election. The Lease stays ours, so that nobody else leads yet. */
  public void stop() {
    synchronized (this) {
      stopping = true;
    }
    stopLeading();
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

  /**
   * Releases the Lease, after {@link #stop}. Another replica may lead at once, so none of our
   * writes may be under way.
   */
  public void release() {
    if (thread.getState() == Thread.State.NEW) {
      return;
    }
    try {
      @Nullable Lease found = lease().get();
      if (found != null && holder(found.getSpec()).equals(identity)) {
        write(found, LeaseElection.released(found.getSpec()));
        leader = "nobody now";
      }
    } catch (RuntimeException kept) {
      LOG.info("cannot release Lease {}/{}, it will expire: {}", namespace, name, kept.toString());
    }
  }
}
