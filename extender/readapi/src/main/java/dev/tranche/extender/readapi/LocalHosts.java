package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Admits only requests for {@code localhost} or a loopback address. Otherwise a foreign page could
 * point its own name here, and read through the browser of the user who forwards the port.
 */
final class LocalHosts implements Endpoint.Guard {
  private static final Set<String> NAMES = Set.of("localhost", "127.0.0.1", "::1", "[::1]");

  private static final Set<String> OTHER_SITES = Set.of("cross-site", "same-site");

  @Override
  public Future<Optional<Problem>> refusal(HttpServerRequest request, Route route) {
    // A page of another origin could send requests through its reader's browser, though not read
    // the answers.
    String site = request.getHeader("Sec-Fetch-Site");
    if (site != null && OTHER_SITES.contains(site)) {
      return refused(
          "a page of another origin sends the request",
          new Problem.Invalid("Sec-Fetch-Site", site, "same-origin and none"));
    }
    HostAndPort authority = request.authority();
    if (authority != null && NAMES.contains(authority.host())) {
      return Future.succeededFuture(Optional.empty());
    }
    String sent = authority == null ? "" : authority.host();
    return refused(
        "the header Host has to be localhost, 127.0.0.1 or [::1]",
        new Problem.Invalid("Host", sent, "localhost, 127.0.0.1 and [::1]"));
  }

  private static Future<Optional<Problem>> refused(String why, Problem.Invalid invalid) {
    return Future.succeededFuture(
        Optional.of(
            new Problem(
                403,
                "Forbidden",
                "this port is for kubectl port-forward; " + why,
                List.of(invalid),
                Map.of())));
  }
}
