package dev.tranche.extender;

import io.fabric8.kubernetes.api.model.APIResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits until the API server serves a kind that not every version or configuration has. A watch of
 * a missing kind would fail for ever.
 */
final class OptionalApi implements AutoCloseable {
  /** An API server is upgraded rarely. */
  static final long CHECK_AGAIN_MS = 300_000;

  private static final Logger LOG = LoggerFactory.getLogger(OptionalApi.class);

  private final KubernetesClient client;
  private final String groupVersion;
  private final String resource;
  private final Runnable served;
  private final long checkAgainMs;
  private final Thread thread;

  /**
   * @param groupVersion such as {@code resource.k8s.io/v1}
   * @param resource the plural name
   * @param served called once, on another thread
   * @param checkAgainMs the mean time after which the API server is asked again
   */
  OptionalApi(
      KubernetesClient client,
      String groupVersion,
      String resource,
      Runnable served,
      long checkAgainMs) {
    this.client = client;
    this.groupVersion = groupVersion;
    this.resource = resource;
    this.served = served;
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
      served.run();
    } catch (InterruptedException end) {
      LOG.debug("no longer looks for {}", resource);
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
  public void close() {
    thread.interrupt();
  }
}
