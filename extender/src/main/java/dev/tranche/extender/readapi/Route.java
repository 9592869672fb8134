package dev.tranche.extender.readapi;

import java.util.List;
import java.util.Optional;

/** What is asked for. */
sealed interface Route {
  String PREFIX = "/api/v1/";

  record Summary() implements Route {}

  record Gpus() implements Route {}

  record Pods() implements Route {}

  record Pod(String namespace, String name) implements Route {}

  record Stream() implements Route {}

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
      case "openapi.json" -> Optional.of(new OpenApi());
      default -> Optional.empty();
    };
  }

  /** The path that a right is given for: the same for all pods. */
  default String right() {
    return switch (this) {
      case Summary() -> PREFIX + "summary";
      case Gpus() -> PREFIX + "gpus";
      case Pods() -> PREFIX + "pods";
      case Pod(String namespace, String name) -> PREFIX + "pods";
      case Stream() -> PREFIX + "stream";
      case OpenApi() -> PREFIX + "openapi.json";
    };
  }
}
