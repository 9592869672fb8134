package dev.tranche.simulate;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A stream between a node's plugin and one extender. Messages keep their order. A partition is
 * noticed by either side only when it misses the other's messages.
 */
final class NodeConnection {
  private final World world;
  private final PluginModel plugin;
  private final ExtenderReplica extender;
  private final int process;
  private final Map<Long, Promise<Void>> unacknowledged = new LinkedHashMap<>();
  private @Nullable Consumer<NodeReport> reports;
  private long sequence;
  long lastReportMs;
  boolean reported;
  boolean closed;
  private boolean pluginClosed;
  private long lastToExtenderMs;
  private long lastToPluginMs;

  NodeConnection(World world, PluginModel plugin, ExtenderReplica extender) {
    this.world = world;
    this.plugin = plugin;
    this.extender = extender;
    this.process = extender.incarnation();
  }

  /** Whether the process at the other end still runs; another in its place knows nothing of it. */
  boolean peerRuns() {
    return extender.running() && extender.incarnation() == process;
  }

  String node() {
    return plugin.node;
  }

  // --- the plugin's side ---

  /** Sends a report. A partition holds it back, as TCP does. */
  void report(NodeReport report) {
    lastToExtenderMs = inOrder(lastToExtenderMs, plugin.name, extender.name);
    long inMs = lastToExtenderMs - world.queue.nowMs();
    if (peerRuns()) {
      extender.run(inMs, () -> extender.received(this, report));
    } else {
      // The machine resets the connection.
      plugin.run(inMs, () -> plugin.ended(this));
    }
  }

  private long inOrder(long lastMs, String from, String to) {
    long openMs = world.network.openAtMs(from, to);
    return Math.max(lastMs, openMs + world.network.delayMs(from, to));
  }

  /** The plugin's end of it is closed, be it by its death or since the other does not answer. */
  void closeByPlugin() {
    if (!pluginClosed) {
      pluginClosed = true;
      long endMs = inOrder(lastToExtenderMs, plugin.name, extender.name);
      extender.run(endMs - world.queue.nowMs(), () -> close("the node ended it"));
    }
  }

  // --- the extender's side ---

  void accepted(Consumer<NodeReport> takes, long nowMs) {
    reports = takes;
    lastReportMs = nowMs;
  }

  void reported(NodeReport report, long nowMs) {
    reported = true;
    lastReportMs = nowMs;
    for (long number : List.copyOf(unacknowledged.keySet())) {
      Promise<Void> applied =
          number <= report.getAppliedDirective() ? unacknowledged.remove(number) : null;
      if (applied != null) {
        applied.tryComplete();
      }
    }
    Consumer<NodeReport> takes = reports;
    if (takes != null) {
      takes.accept(report);
    }
  }

  Future<Void> send(NodeDirective.Builder directive, long ackWithinMs) {
    Promise<Void> applied = Promise.promise();
    if (closed) {
      applied.fail("its stream has closed");
      return applied.future();
    }
    long number = ++sequence;
    unacknowledged.put(number, applied);
    extender.run(
        ackWithinMs,
        () -> {
          if (applied.tryFail("no answer within " + ackWithinMs + " ms")) {
            unacknowledged.remove(number);
          }
        });
    NodeDirective sent = directive.setSequence(number).build();
    toPlugin(() -> plugin.directed(this, sent));
    return applied.future();
  }

  /** A partition holds it back, as TCP does. */
  private void toPlugin(Runnable received) {
    lastToPluginMs = inOrder(lastToPluginMs, extender.name, plugin.name);
    plugin.run(lastToPluginMs - world.queue.nowMs(), received);
  }

  /** The extender ends it. */
  void close(String why) {
    if (!closed) {
      closed = true;
      var waiting = new LinkedHashMap<>(unacknowledged);
      unacknowledged.clear();
      waiting.values().forEach(promise -> promise.tryFail("its stream has closed: " + why));
      extender.lost(this);
      toPlugin(() -> plugin.ended(this));
    }
  }

  /** The extender has died. */
  void extenderEnded() {
    if (!closed) {
      closed = true;
      unacknowledged.clear();
      if (!world.network.blocked(extender.name, plugin.name)) {
        plugin.run(world.network.delayMs(extender.name, plugin.name), () -> plugin.ended(this));
      }
    }
  }
}
