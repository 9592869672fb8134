package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.state.NodePlugins;
import io.vertx.core.Future;
import io.vertx.grpc.common.GrpcStatus;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The open streams, one per node: the newest. */
public final class NodeStreams implements NodePlugins {
  private static final Logger LOG = LoggerFactory.getLogger(NodeStreams.class);

  /** Nobody waits for these; a node that is that late is lost anyway. */
  private static final long UNHURRIED_MS = 10_000;

  private final ConcurrentMap<String, NodeStream> byNode = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, String> configs = new ConcurrentHashMap<>();
  private final long ackWithinMs;

  public NodeStreams(long ackWithinMs) {
    this.ackWithinMs = ackWithinMs;
  }

  void opened(NodeStream stream) {
    NodeStream before = byNode.put(stream.node, stream);
    if (before != null) {
      before.closeFromElsewhere(GrpcStatus.ABORTED, "the node has opened a newer stream");
    }
    carry(stream, NodeDirective.newBuilder().setTakesBriefReports(true));
  }

  /** Whether it was the node's newest. */
  boolean closed(NodeStream stream) {
    return byNode.remove(stream.node, stream);
  }

  Collection<NodeStream> open() {
    return byNode.values();
  }

  /** What the last whole reports of all nodes take as messages; what is kept of them takes more. */
  public long keptBytes() {
    return byNode.values().stream().mapToLong(NodeStream::keptBytes).sum();
  }

  /**
   * What reports take beyond what every node may have, so that many ordinary nodes leave the room
   * for large ones alone.
   *
   * @param node whose own last report is about to be replaced
   */
  long largeBytes(String node, int ordinaryBytes) {
    return byNode.entrySet().stream()
        .filter(other -> !other.getKey().equals(node))
        .mapToLong(other -> Math.max(0, other.getValue().keptBytes() - ordinaryBytes))
        .sum();
  }

  public int size() {
    return byNode.size();
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    NodeStream stream = byNode.get(node);
    return stream == null
        ? Future.failedFuture("it has no open stream")
        : stream.send(named(node, Directives.assign(assignment)), ackWithinMs);
  }

  @Override
  public void configure(String node, String config) {
    String before = configs.put(node, config);
    NodeStream stream = byNode.get(node);
    if (stream != null && !config.equals(before)) {
      carry(stream, NodeDirective.newBuilder());
    }
  }

  @Override
  public void forget(String node) {
    configs.remove(node);
  }

  @Override
  public void retract(String node, String uid) {
    @Nullable NodeStream stream = byNode.get(node);
    if (stream != null) {
      carry(stream, Directives.retract(uid));
    }
  }

  private void carry(NodeStream stream, NodeDirective.Builder directive) {
    stream
        .send(named(stream.node, directive), UNHURRIED_MS)
        .onFailure(late -> LOG.debug("node {}: {}", stream.node, late.getMessage()));
  }

  /**
   * Every directive says the config anew, once the node's labels have been read. Before that,
   * silence: an empty name would mean that it has no label.
   */
  NodeDirective.Builder named(String node, NodeDirective.Builder directive) {
    @Nullable String config = configs.get(node);
    return config == null ? directive : directive.setConfigName(config);
  }
}
