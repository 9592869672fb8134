package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Recognizes a selector for a product that no node has, while nodes have it with or without the
 * suffix that GPU Feature Discovery adds where GPUs are shared.
 */
final class ProductSuffix {
  private static final String SHARED = "-SHARED";

  private ProductSuffix() {}

  /**
   * @param nodes all that are labelled; none of them suits the pod
   */
  static Optional<String> warning(PodView pod, List<GpuNode> nodes) {
    Set<String> known =
        nodes.stream().flatMap(n -> n.labelledProduct().stream()).collect(Collectors.toSet());
    return selected(pod)
        .filter(product -> !known.contains(product) && known.contains(other(product)))
        .findFirst()
        .map(product -> Warning.PRODUCT_SUFFIX.of(Names.LABEL_PRODUCT, product, other(product)));
  }

  private static String other(String product) {
    return product.endsWith(SHARED)
        ? product.substring(0, product.length() - SHARED.length())
        : product + SHARED;
  }

  /** The products that the pod's nodeSelector or required node affinity names. */
  private static Stream<String> selected(PodView pod) {
    JsonNode terms =
        pod.spec()
            .path("affinity")
            .path("nodeAffinity")
            .path("requiredDuringSchedulingIgnoredDuringExecution")
            .path("nodeSelectorTerms");
    return Stream.concat(
        Stream.of(pod.spec().path("nodeSelector").path(Names.LABEL_PRODUCT).asText("")),
        terms
            .valueStream()
            .flatMap(term -> term.path("matchExpressions").valueStream())
            .filter(e -> e.path("key").asText("").equals(Names.LABEL_PRODUCT))
            .filter(e -> e.path("operator").asText("").equals("In"))
            .flatMap(e -> e.path("values").valueStream())
            .map(value -> value.asText("")));
  }
}
