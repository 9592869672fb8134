package dev.tranche.extender.readapi;

import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The resource that a request asks for.
 *
 * @param namespace of one pod; empty otherwise
 * @param name likewise
 */
record Route(Kind kind, String namespace, String name) {
  private static final String PREFIX = "/api/v1/";

  enum Kind {
    SUMMARY("summary"),
    GPUS("gpus"),
    PODS("pods"),
    POD("pods"),
    STREAM("stream"),
    WHAT_IF("what-if"),
    HISTORY("history"),
    INVARIANTS("invariants"),
    OPENAPI("openapi.json");

    private final String path;

    Kind(String path) {
      this.path = path;
    }
  }

  static Optional<Route> of(String path) {
    if (!path.startsWith(PREFIX)) {
      return Optional.empty();
    }
    List<String> parts = List.of(path.substring(PREFIX.length()).split("/", -1));
    if (parts.size() == 3 && parts.getFirst().equals(Kind.POD.path)) {
      return Optional.of(new Route(Kind.POD, parts.get(1), parts.get(2)));
    }
    return Stream.of(Kind.values())
        .filter(kind -> kind != Kind.POD && parts.equals(List.of(kind.path)))
        .findFirst()
        .map(kind -> new Route(kind, "", ""));
  }

  /** Returns the only method that the route accepts. */
  HttpMethod method() {
    return kind == Kind.WHAT_IF ? HttpMethod.POST : HttpMethod.GET;
  }

  /** Returns the verb, as in a rule of a ClusterRole. */
  String verb() {
    return method().name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the path of the right, without the ClusterRole's prefix; it is the same for all pods.
   */
  String nonResourcePath() {
    return PREFIX + kind.path;
  }
}
