package dev.tranche.extender.http;

import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Explain;
import dev.tranche.extender.verb.Inspection;
import dev.tranche.extender.verb.Loop;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** For people and Prometheus: metrics, health, and why pods are where they are. */
public final class OpsRoutes {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String JSON = "application/json";
  private static final Logger log = LoggerFactory.getLogger(OpsRoutes.class);

  private final Core core;
  private final Loop loop;
  private final PrometheusMeterRegistry registry;
  private final GpuCollector gpus;
  private final Supplier<Optional<String>> missing;

  /**
   * @param missing what readiness lacks beside the core's own needs, as a sentence
   */
  public OpsRoutes(
      Core core,
      Loop loop,
      PrometheusMeterRegistry registry,
      GpuCollector gpus,
      Supplier<Optional<String>> missing) {
    this.core = core;
    this.loop = loop;
    this.registry = registry;
    this.gpus = gpus;
    this.missing = missing;
  }

  public Router router(Vertx vertx) {
    Router router = Router.router(vertx);
    router.get("/metrics").handler(call -> metrics(vertx, call));
    // Alive is who answers from the loop that decides.
    router.get("/healthz").handler(call -> answer(call, loop.ask(() -> "ok\n"), TEXT));
    router.get("/readyz").handler(this::ready);
    router.get("/explain").handler(this::explain);
    router.get("/inspect").handler(this::inspect);
    return router;
  }

  private void metrics(Vertx vertx, RoutingContext call) {
    Future<String> text =
        loop.ask(() -> Inspection.of(core))
            .compose(
                inspection -> {
                  gpus.show(inspection);
                  return vertx.executeBlocking(() -> registry.scrape(METRICS_TYPE));
                });
    answer(call, text, METRICS_TYPE);
  }

  private void ready(RoutingContext call) {
    loop.ask(core::notReady)
        .onSuccess(
            notReady -> {
              Optional<String> why = missing.get().or(() -> notReady);
              call.response().setStatusCode(why.isEmpty() ? 200 : 503);
              call.response().putHeader("Content-Type", TEXT).end(why.orElse("ready") + "\n");
            });
  }

  private void explain(RoutingContext call) {
    String pod = call.request().getParam("pod", "");
    if (pod.indexOf('/') < 1) {
      call.response()
          .setStatusCode(400)
          .end("name a pod: /explain?pod=namespace/name (\"" + pod + "\" is none)\n");
      return;
    }
    loop.ask(() -> Explain.of(core, pod))
        .onSuccess(
            found -> {
              if (found.isEmpty()) {
                call.response()
                    .setStatusCode(404)
                    .end(
                        "nothing is known of pod "
                            + pod
                            + ": it asks for no GPU, does not exist, or was never filtered here\n");
              } else {
                explained(call, found.get());
              }
            })
        .onFailure(bug -> failed(call, bug));
  }

  private static void explained(RoutingContext call, JsonObject found) {
    if (wantsJson(call)) {
      call.response().putHeader("Content-Type", JSON).end(found.encodePrettily() + "\n");
    } else {
      call.response().putHeader("Content-Type", TEXT).end(Pages.explanation(found));
    }
  }

  private void inspect(RoutingContext call) {
    Future<Inspection> inspection = loop.ask(() -> Inspection.of(core));
    if (wantsJson(call)) {
      answer(call, inspection.map(i -> Pages.json(i).encodePrettily() + "\n"), JSON);
    } else {
      answer(call, inspection.map(Pages::inspection), TEXT);
    }
  }

  private static boolean wantsJson(RoutingContext call) {
    return call.request().getHeader("Accept") != null
        && call.request().getHeader("Accept").contains(JSON);
  }

  private static void answer(RoutingContext call, Future<String> body, String type) {
    body.onSuccess(text -> call.response().putHeader("Content-Type", type).end(text))
        .onFailure(bug -> failed(call, bug));
  }

  private static void failed(RoutingContext call, Throwable bug) {
    log.error("{} failed", call.request().path(), bug);
    call.response().setStatusCode(500).end("the extender failed; its log says how\n");
  }
}
