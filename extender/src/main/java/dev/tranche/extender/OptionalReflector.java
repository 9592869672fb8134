package dev.tranche.extender;

import dev.tranche.extender.watch.Reflector;
import io.fabric8.kubernetes.api.model.APIResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts a reflector of a kind that not every version or configuration of the API server has, once
 * it is served. A watch of a missing kind would fail for ever, and its age would be no fault.
 */
final class OptionalReflector implements AutoCloseable {
  /** An API server is upgraded rarely. */
  static final long CHECK_AGAIN_MS = 300_000;

  private static final Logger LOG = LoggerFactory.getLogger(OptionalReflector.class);

  private final KubernetesClient client;
  private final String groupVersion;
  private final String resource;
  private final Supplier<Reflector<?>> create;
  private final long checkAgainMs;
  private final Thread thread;
  private @Nullable Reflector<?> reflector;
  private boolean closed;

  /**
   * @param groupVersion such as {@code resource.k8s.io/v1}
   * @param resource the plural name
   * @param create creates the reflector of that resource; called once
   * @param checkAgainMs the mean time after which the API server is asked again
   */
  OptionalReflector(
      KubernetesClient client,
      String groupVersion,
      String resource,
      Supplier<Reflector<?>> create,
      long checkAgainMs) {
    this.client = client;
    this.groupVersion = groupVersion;
    this.resource = resource;
    this.create = create;
    this.checkAgainMs = checkAgainMs;
    this.thread = Thread.ofVirtual().name("discover " + resource).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  private void run() {
    try {
      while (!isServed()) {
        Thread.sleep(checkAgainMs / 2 + ThreadLocalRandom.current().nextLong(checkAgainMs));
      }
      begin();
    } catch (InterruptedException end) {
      LOG.debug("no longer looks for {}", resource);
    }
  }

  private synchronized void begin() {
    if (!closed) {
      reflector = create.get();
      reflector.start();
    }
  }

  private boolean isServed() {
    try {
      APIResourceList list = client.getApiResources(groupVersion);
      return list != null
          && list.getResources().stream().anyMatch(r -> r.getName().equals(resource));
    } catch (RuntimeException unreachable) {
      LOG.info("cannot read whether {} is served: {}", groupVersion, unreachable.toString());
      return false;
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    thread.interrupt();
    if (reflector != null) {
      reflector.close();
    }
  }
}
