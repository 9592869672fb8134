package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.GpuLabels;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeList;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what an installation wrote at run time and no uninstall covers: labels and annotations of
 * nodes, certificates, Leases. It waits for the writers to end, since they would write again. What
 * others wrote stays, including a label whose value has changed.
 *
 * @param name of the installation, {@code tranche}
 */
public record Cleanup(KubernetesClient client, String name, String namespace) {
  private static final Logger LOG = LoggerFactory.getLogger(Cleanup.class);

  /** Ours on nodes; the last is what {@link Names#RETRY_TIME} was called before. */
  private static final List<String> ANNOTATIONS =
      List.of(Names.NODE_LABELS, Names.GPU_USE, Names.RETRY_TIME, "tranche.dev/room");

  private static final String COMPONENT = "app.kubernetes.io/component";
  private static final Set<String> WRITERS = Set.of("webhook", "extender");
  private static final Duration BETWEEN_CHECKS = Duration.ofSeconds(1);
  private static final long NODES_PER_PAGE = 200;

  /** The documentation of the same cleanup without the Job. */
  public static final String BY_HAND = "docs/operations.md#after-a-cleanup-that-failed";

  /**
   * Cleans up.
   *
   * @param checksMax how often it checks, a second apart, whether the writers have ended
   * @return nodes that were cleaned
   * @throws IllegalStateException if a webhook or extender still runs
   */
  public int run(int checksMax) throws InterruptedException {
    awaitWriters(checksMax);
    int nodes = cleanNodes();
    for (String secret :
        List.of("-ca", "-webhook-tls", "-extender-tls", "-scheduler-client-tls", "-issuing-ca")) {
      client.secrets().inNamespace(namespace).withName(name + secret).delete();
    }
    client.configMaps().inNamespace(namespace).withName(name + "-ca").delete();
    for (String lease : List.of("-scheduler", "-extender")) {
      client.leases().inNamespace(namespace).withName(name + lease).delete();
    }
    return nodes;
  }

  private void awaitWriters(int checksMax) throws InterruptedException {
    for (int check = 1; !writers().isEmpty(); check++) {
      if (check >= checksMax) {
        throw new IllegalStateException(
            "pods %s of namespace %s still run and would restore what the cleanup removes; delete them, and run the cleanup again"
                .formatted(writers(), namespace));
      }
      Thread.sleep(BETWEEN_CHECKS);
    }
  }

  private List<String> writers() {
    return client
        .pods()
        .inNamespace(namespace)
        .withLabel("app.kubernetes.io/name", name)
        .list()
        .getItems()
        .stream()
        .map(Pod::getMetadata)
        .filter(pod -> WRITERS.contains(pod.getLabels().getOrDefault(COMPONENT, "")))
        .map(ObjectMeta::getName)
        .toList();
  }

  private int cleanNodes() {
    int cleaned = 0;
    String next = "";
    do {
      NodeList page =
          client
              .nodes()
              .list(new ListOptionsBuilder().withLimit(NODES_PER_PAGE).withContinue(next).build());
      cleaned += (int) page.getItems().stream().filter(this::clean).count();
      next = Objects.requireNonNullElse(page.getMetadata().getContinue(), "");
    } while (!next.isEmpty());
    return cleaned;
  }

  private boolean clean(Node node) {
    Optional<String> patch = patch(node);
    if (patch.isPresent()) {
      String nodeName = node.getMetadata().getName();
      var how = PatchContext.of(PatchType.JSON_MERGE);
      client.nodes().withName(nodeName).patch(how, patch.get());
      LOG.info("cleaned node {}: {}", nodeName, patch.get());
    }
    return patch.isPresent();
  }

  /**
   * Returns the patch that removes our labels and annotations from a node; empty if there are none.
   */
  static Optional<String> patch(Node node) {
    var meta = node.getMetadata();
    Map<String, String> labels = Objects.requireNonNullElse(meta.getLabels(), Map.of());
    Map<String, String> annotations = Objects.requireNonNullElse(meta.getAnnotations(), Map.of());
    String written = annotations.getOrDefault(Names.NODE_LABELS, "");
    boolean onDra = Names.DRA.equals(labels.get(Names.SERVED_BY));
    if (!onDra && ANNOTATIONS.stream().noneMatch(annotations::containsKey)) {
      return Optional.empty();
    }
    var gone =
        new HashMap<>(
            GpuLabels.change(labels, written, Map.of())
                .map(GpuLabels.Change::labels)
                .orElse(Map.of()));
    if (onDra) {
      gone.put(Names.SERVED_BY, "");
    }
    return Optional.of(
        WatchedNodes.mergePatch(
                gone, ANNOTATIONS.stream().collect(Collectors.toMap(key -> key, key -> "")))
            .encode());
  }
}
