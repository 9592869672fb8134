package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Right;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.table.Output;
import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The resource that a request asks for.
 *
 * @param view how much of the cluster is shown
 * @param namespace of one pod; empty otherwise
 * @param name likewise
 */
record Route(Kind kind, View view, String namespace, String name) {
  private static final String PREFIX = "/api/v1/";

  /** Where Prometheus looks, and what its account has a right to at other parts of a cluster. */
  private static final String METRICS = "/metrics";

  private static final String NAMESPACES = Access.NAMESPACES + "/";

  /**
   * Compared with the path as it was sent. What is escaped in a path is therefore no namespace, and
   * can name none but that which is reviewed.
   */
  private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");

  enum Kind {
    SUMMARY("summary"),
    GPUS("gpus"),
    PODS("pods"),
    POD("pods"),
    CHANGES("changes"),
    WHAT_IF("what-if"),
    HISTORY("history"),
    INVARIANTS("invariants"),
    WASTE("waste"),
    METRICS("metrics"),
    OPENAPI("openapi.json");

    private static final Set<Kind> OF_A_NAMESPACE = Set.of(SUMMARY, GPUS, PODS, WHAT_IF, HISTORY);

    private final String path;

    Kind(String path) {
      this.path = path;
    }
  }

  /**
   * @param path as it was sent
   */
  static Optional<Route> of(String path) {
    if (isOfKubernetes(path)) {
      return ofNamespace(parts(path, NAMESPACES));
    }
    if (path.equals(METRICS)) {
      return Optional.of(new Route(Kind.METRICS, View.ALL, "", ""));
    }
    if (!path.startsWith(PREFIX)) {
      return Optional.empty();
    }
    List<String> parts = parts(path, PREFIX);
    if (parts.size() == 3 && parts.getFirst().equals(Kind.POD.path)) {
      return Optional.of(new Route(Kind.POD, View.ALL, parts.get(1), parts.get(2)));
    }
    return parts.size() == 1 ? of(parts.getFirst(), View.ALL) : Optional.empty();
  }

  /** Whether errors on the path are objects of Kubernetes, as kubectl shows them. */
  static boolean isOfKubernetes(String path) {
    return path.startsWith(NAMESPACES);
  }

  private static List<String> parts(String path, String prefix) {
    return List.of(path.substring(prefix.length()).split("/", -1));
  }

  private static Optional<Route> ofNamespace(List<String> parts) {
    String namespace = parts.getFirst();
    if (!NAMESPACE.matcher(namespace).matches()) {
      return Optional.empty();
    }
    var view = View.of(namespace);
    if (parts.size() == 3 && parts.get(1).equals(Kind.POD.path) && !parts.get(2).isEmpty()) {
      return Optional.of(new Route(Kind.POD, view, namespace, parts.get(2)));
    }
    return parts.size() == 2
        ? of(parts.get(1), view).filter(route -> Kind.OF_A_NAMESPACE.contains(route.kind))
        : Optional.empty();
  }

  private static Optional<Route> of(String part, View view) {
    return Stream.of(Kind.values())
        .filter(kind -> kind != Kind.POD && kind != Kind.METRICS && kind.path.equals(part))
        .findFirst()
        .map(kind -> new Route(kind, view, "", ""));
  }

  /** Returns the only method that the route accepts. */
  HttpMethod method() {
    return kind == Kind.WHAT_IF ? HttpMethod.POST : HttpMethod.GET;
  }

  /** Returns the formats that a caller may ask for. */
  List<Output> outputs() {
    return switch (kind) {
      case SUMMARY, GPUS, PODS, POD, WHAT_IF, INVARIANTS, WASTE -> List.of(Output.values());
      case HISTORY -> List.of(Output.JSON);
      case CHANGES, METRICS, OPENAPI -> List.of();
    };
  }

  /** Returns what a caller with a token has to be allowed to do. */
  List<Right> rights() {
    if (kind == Kind.METRICS) {
      return List.of(new Right.NonResource("get", METRICS));
    }
    if (view.namespace().isEmpty()) {
      // The same for all pods.
      return List.of(Access.toPath(method().name().toLowerCase(Locale.ROOT), PREFIX + kind.path));
    }
    var get = new Right.Pods("get", view.namespace().get());
    return switch (kind) {
      case POD, WHAT_IF -> List.of(get);
      case SUMMARY, GPUS, PODS, CHANGES, HISTORY, INVARIANTS, WASTE, METRICS, OPENAPI ->
          List.of(get, new Right.Pods("list", view.namespace().get()));
    };
  }
}
