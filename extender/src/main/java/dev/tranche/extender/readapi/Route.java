package dev.tranche.extender.readapi;

import io.vertx.core.http.HttpMethod;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What is asked for. */
sealed interface Route {
  String PREFIX = "/api/v1/";

  record Summary() implements Route {}

  record Gpus() implements Route {}

  record Pods() implements Route {}

  record Pod(String namespace, String name) implements Route {}

  record Stream() implements Route {}

  record WhatIf() implements Route {}

  record History() implements Route {}

  record OpenApi() implements Route {}

  static Optional<Route> of(String path) {
    if (!path.startsWith(PREFIX)) {
      return Optional.empty();
    }
    List<String> parts = List.of(path.substring(PREFIX.length()).split("/", -1));
    if (parts.size() == 3 && parts.getFirst().equals("pods")) {
      return Optional.of(new Pod(parts.get(1), parts.get(2)));
    }
    if (parts.size() != 1) {
      return Optional.empty();
    }
    return switch (parts.getFirst()) {
      case "summary" -> Optional.of(new Summary());
      case "gpus" -> Optional.of(new Gpus());
      case "pods" -> Optional.of(new Pods());
      case "stream" -> Optional.of(new Stream());
      case "what-if" -> Optional.of(new WhatIf());
      case "history" -> Optional.of(new History());
      case "openapi.json" -> Optional.of(new OpenApi());
      default -> Optional.empty();
    };
  }

  /** The only one. */
  default HttpMethod method() {
    return this instanceof WhatIf ? HttpMethod.POST : HttpMethod.GET;
  }

  /** As a rule of a ClusterRole has it. */
  default String verb() {
    return method().name().toLowerCase(Locale.ROOT);
  }

  /** The path that a right is given for: the same for all pods. */
  default String right() {
    return switch (this) {
      case Summary() -> PREFIX + "summary";
      case Gpus() -> PREFIX + "gpus";
      case Pods() -> PREFIX + "pods";
      case Pod(String namespace, String name) -> PREFIX + "pods";
      case Stream() -> PREFIX + "stream";
      case WhatIf() -> PREFIX + "what-if";
      case History() -> PREFIX + "history";
      case OpenApi() -> PREFIX + "openapi.json";
    };
  }
}
