package dev.tranche.extender.readapi;

import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import java.util.Optional;
import java.util.Set;

/**
 * Lets in who asks a name of this host. A page of a stranger could else lead its own name here, and
 * read through the browser of who forwards the port.
 */
final class LocalHosts implements Endpoint.Guard {
  private static final Set<String> NAMES = Set.of("localhost", "127.0.0.1", "::1", "[::1]");

  @Override
  public Future<Optional<Problem>> refusal(HttpServerRequest request, Route route) {
    HostAndPort authority = request.authority();
    if (authority != null && NAMES.contains(authority.host())) {
      return Future.succeededFuture(Optional.empty());
    }
    String sent = authority == null ? "" : authority.host();
    var invalid = new Problem.Invalid("Host", sent, "localhost, 127.0.0.1 and [::1]");
    return Future.succeededFuture(
        Optional.of(
            new Problem(
                403,
                "Forbidden",
                "this port is for kubectl port-forward; the header Host has to be localhost, 127.0.0.1 or [::1]",
                java.util.List.of(invalid),
                java.util.Map.of())));
  }
}
