package dev.tranche.e2e.cluster;

import java.time.Duration;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;

/**
 * Waits for the line that K3s logs when it is up, and gives up at once when the container ends. A
 * failure shows the node's log, because Testcontainers removes the container.
 */
final class ServerReady extends AbstractWaitStrategy {
  private static final String LINE = "Node controller sync successful";

  private final GenericContainer<?> server;
  private final Distribution distribution;

  ServerReady(GenericContainer<?> server, Distribution distribution, Duration limit) {
    this.server = server;
    this.distribution = distribution;
    withStartupTimeout(limit);
  }

  @Override
  protected void waitUntilReady() {
    long deadline = System.nanoTime() + startupTimeout.toNanos();
    while (!server.getLogs().contains(LINE)) {
      if (!server.isRunning() || System.nanoTime() > deadline) {
        throw new ContainerLaunchException(
            "the server is not up\n" + lastLogLines(server, distribution));
      }
      Cluster.pause();
    }
  }

  /** The last lines of a node's logs. */
  static String lastLogLines(GenericContainer<?> node, Distribution distribution) {
    if (node.getContainerId() == null) {
      return "(not created)";
    }
    var own = node.getLogs().lines().toList();
    var last = String.join("\n", own.subList(Math.max(0, own.size() - 12), own.size()));
    return node.isRunning()
        ? last + "\n" + Cluster.exec(node, "sh", "-c", distribution.tailLogs()).out()
        : last + "\n(the node has ended)";
  }
}
