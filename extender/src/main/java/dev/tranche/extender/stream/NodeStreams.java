package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.state.NodePlugins;
import io.vertx.core.Future;
import io.vertx.grpc.common.GrpcStatus;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open streams: the newest one of each node that has reported, and those without a report so
 * far. A stream takes its node's place at its first report only, since its token may be stolen.
 */
public final class NodeStreams implements NodePlugins {
  private static final Logger LOG = LoggerFactory.getLogger(NodeStreams.class);

  /** The timeout of directives that nobody waits for; a node that is this late is lost anyway. */
  private static final long UNATTENDED_ACK_MS = 10_000;

  /** A node plugin has one, for the moment until its report. Beyond them the oldest is ended. */
  static final int UNREPORTED_MAX = 4;

  private final ConcurrentMap<String, NodeStream> byNode = new ConcurrentHashMap<>();

  /** By node, the oldest first. Confined to the streams' loop. */
  private final Map<String, Deque<NodeStream>> unreported = new HashMap<>();

  private final ConcurrentMap<String, String> configs = new ConcurrentHashMap<>();
  private final long ackWithinMs;
  private final UnaryOperator<Future<Void>> completeOnLoop;

  /**
   * @param completeOnLoop makes a future complete on the loop that owns the Ledger
   */
  public NodeStreams(long ackWithinMs, UnaryOperator<Future<Void>> completeOnLoop) {
    this.ackWithinMs = ackWithinMs;
    this.completeOnLoop = completeOnLoop;
  }

  /** Adds a stream and returns the one to end, if the node has too many without a report. */
  Optional<NodeStream> opened(NodeStream stream) {
    Deque<NodeStream> waiting = unreported.computeIfAbsent(stream.node, n -> new ArrayDeque<>());
    waiting.addLast(stream);
    return waiting.size() > UNREPORTED_MAX ? Optional.of(waiting.getFirst()) : Optional.empty();
  }

  /**
   * Lets a stream that has sent a valid report take its node's place.
   *
   * @return whether it was its first one
   */
  boolean reported(NodeStream stream) {
    if (!removeUnreported(stream)) {
      return false;
    }
    NodeStream before = byNode.put(stream.node, stream);
    if (before != null) {
      before.closeFromElsewhere(GrpcStatus.ABORTED, "the node has opened a newer stream");
    }
    sendUnattended(stream, NodeDirective.newBuilder().setTakesBriefReports(true));
    return true;
  }

  private boolean removeUnreported(NodeStream stream) {
    @Nullable Deque<NodeStream> waiting = unreported.get(stream.node);
    if (waiting == null || !waiting.remove(stream)) {
      return false;
    }
    if (waiting.isEmpty()) {
      unreported.remove(stream.node);
    }
    return true;
  }

  /** Removes a closed stream and returns whether it was its node's newest that has reported. */
  boolean closed(NodeStream stream) {
    removeUnreported(stream);
    return byNode.remove(stream.node, stream);
  }

  @Nullable NodeStream get(String node) {
    return byNode.get(node);
  }

  boolean has(String node) {
    return byNode.containsKey(node) || unreported.containsKey(node);
  }

  List<NodeStream> open() {
    var open = new ArrayList<>(byNode.values());
    unreported.values().forEach(open::addAll);
    return open;
  }

  /**
   * Returns the total size of the last whole reports of all nodes, as messages. The objects that
   * are kept of them take more.
   */
  public long keptBytes() {
    return byNode.values().stream().mapToLong(NodeStream::keptBytes).sum();
  }

  /**
   * Returns the bytes of reports beyond each node's allowance, so that many ordinary nodes leave
   * the limit to the large ones.
   *
   * @param node left out, since its last report is about to be replaced
   * @param ordinaryBytes the allowance of each node
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
    Future<Void> acknowledged =
        stream == null
            ? Future.failedFuture("it has no open stream")
            : stream.send(withConfigName(node, Directives.assign(assignment)), ackWithinMs);
    return completeOnLoop.apply(acknowledged);
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
