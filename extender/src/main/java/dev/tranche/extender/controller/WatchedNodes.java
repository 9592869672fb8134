package dev.tranche.extender.controller;

import dev.tranche.extender.client.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.process.meters.Failures;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Nodes as last watched, for all controllers. It also patches them while this extender may
 * write: each at its rate, and again only once the last patch is answered and the watch shows it. A
 * controller tries again what was put off or refused, with what is true then. Confined to the loop.
 */
public final class WatchedNodes implements Controller {
  /** All nodes need labels at once only once. */
  private static final NodeRate.Limits RATE = new NodeRate.Limits(10, 10_000, 256, 50);

  private static final Logger LOG = LoggerFactory.getLogger(WatchedNodes.class);

  private final ApiWrites api;
  private final BooleanSupplier mayWrite;
  private final NodeRate rate;
  private final Failures failures;
  private final Map<String, WatchedNode> byName = new HashMap<>();

  /** The resource versions that were patched, by name. */
  private final Map<String, String> patched = new HashMap<>();

  /** The names of the nodes whose patch is not answered yet. */
  private final Set<String> underWay = new HashSet<>();

  WatchedNodes(
      ApiWrites api, BooleanSupplier mayWrite, LongSupplier clockMs, ExtenderMetrics metrics) {
    this.api = api;
    this.mayWrite = mayWrite;
    this.rate = new NodeRate("writes", RATE, clockMs, metrics);
    this.failures = metrics.failures;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    byName.put(node.key(), node);
  }

  @Override
  public void nodeGone(String node) {
    byName.remove(node);
    patched.remove(node);
  }

  Optional<WatchedNode> get(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** Works on each node. A failure ends only the work on its own. */
  void forEach(Consumer<WatchedNode> work) {
    all().forEach(node -> failures.onNode(node.key(), () -> work.accept(node)));
  }

  Collection<WatchedNode> all() {
    return List.copyOf(byName.values());
  }

  /**
   * Patches labels and annotations, unless the Node has changed since.
   *
   * @param what is patched, for the log
   * @param labels as in {@link #mergePatch}
   */
  void patch(
      WatchedNode node,
      String what,
      Map<String, String> labels,
      Map<String, String> annotations,
      Runnable done) {
    JsonObject patch = mergePatch(labels, annotations);
    patch.getJsonObject("metadata").put("resourceVersion", node.resourceVersion());
    patch(node, what, PatchType.JSON_MERGE, patch.encode(), done);
  }

  /**
   * Returns a merge patch.
   *
   * @param labels to set; an empty value removes the label
   * @param annotations likewise
   */
  static JsonObject mergePatch(Map<String, String> labels, Map<String, String> annotations) {
    return JsonObject.of(
        "metadata",
        JsonObject.of("labels", nullable(labels), "annotations", nullable(annotations)));
  }

  private static JsonObject nullable(Map<String, String> values) {
    var json = new JsonObject();
    values.forEach((key, value) -> json.put(key, value.isEmpty() ? null : value));
    return json;
  }

  void patch(WatchedNode node, String what, PatchType type, String patch, Runnable done) {
    String name = node.key();
    boolean shown = !node.resourceVersion().equals(patched.get(name));
    if (!mayWrite.getAsBoolean() || underWay.contains(name) || !shown || !rate.tryAcquire(name)) {
      return;
    }
    Future<?> answer = api.patchNode(name, type, patch);
    patched.put(name, node.resourceVersion());
    underWay.add(name);
    answer
        .onComplete(any -> underWay.remove(name))
        .onSuccess(any -> done.run())
        .onFailure(
            e -> {
              patched.remove(name);
              LOG.info("cannot patch {} of node {}, will retry: {}", what, name, e.toString());
            });
  }
}
