package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.state.NodePlugins;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.grpc.common.GrpcStatus;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The open streams, the newest one of each node. */
public final class NodeStreams implements NodePlugins {
  private static final Logger LOG = LoggerFactory.getLogger(NodeStreams.class);

  /** The timeout of directives that nobody waits for; a node that is this late is lost anyway. */
  private static final long UNATTENDED_ACK_MS = 10_000;

  private final ConcurrentMap<String, NodeStream> byNode = new ConcurrentHashMap<>();

  private final ConcurrentMap<String, String> configs = new ConcurrentHashMap<>();
  private final long ackWithinMs;
  private final Loop loop;

  public NodeStreams(long ackWithinMs, Loop loop) {
    this.ackWithinMs = ackWithinMs;
    this.loop = loop;
  }

  /** Lets a stream take its node's place: whoever shows the node's token is the node. */
  void opened(NodeStream stream) {
    NodeStream before = byNode.put(stream.node, stream);
    if (before != null) {
      before.closeFromElsewhere(GrpcStatus.ABORTED, "the node has opened a newer stream");
    }
    sendUnattended(stream, NodeDirective.newBuilder().setTakesBriefReports(true));
  }

  /** Removes a closed stream and returns whether it was its node's newest. */
  boolean closed(NodeStream stream) {
    return byNode.remove(stream.node, stream);
  }

  List<NodeStream> open() {
    return List.copyOf(byNode.values());
  }

  public int size() {
    return byNode.size();
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    NodeStream stream = byNode.get(node);
    Future<Void> acknowledged =
        stream == null
            ? Future.failedFuture("it has no open stream")
            : stream.send(withConfigName(node, Directives.assign(assignment)), ackWithinMs);
    return loop.completeOnLoop(acknowledged);
  }

  @Override
  public void configure(String node, String config) {
    String before = configs.put(node, config);
    NodeStream stream = byNode.get(node);
    if (stream != null && !config.equals(before)) {
      sendUnattended(stream, NodeDirective.newBuilder());
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
      sendUnattended(stream, Directives.retract(uid));
    }
  }

  private void sendUnattended(NodeStream stream, NodeDirective.Builder directive) {
    stream
        .send(withConfigName(stream.node, directive), UNATTENDED_ACK_MS)
        .onFailure(late -> LOG.debug("node {}: {}", stream.node, late.getMessage()));
  }

  /**
   * Adds the config's name to a directive, once the node's labels have been read. Before that the
   * name is left out, since an empty one would mean that the node has no label.
   */
  NodeDirective.Builder withConfigName(String node, NodeDirective.Builder directive) {
    @Nullable String config = configs.get(node);
    return config == null ? directive : directive.setConfigName(config);
  }
}
