package dev.tranche.extender.http;

import dev.tranche.api.listen.Gzip;
import dev.tranche.extender.explain.Explain;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.SchedulerAdvice;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.state.Loop;
import dev.tranche.extender.state.ReadinessGate;
import io.micrometer.core.instrument.Counter;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** For people and Prometheus: metrics, health, and why pods are where they are. */
public final class OpsRoutes {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String GZIP_ASKED = "Accept-Encoding";
  private static final int PACKED_BYTES = 16 * 1024;
  private static final String JSON = "application/json";

  /** Of each page; a person, a dashboard and Prometheus ask one at a time. */
  private static final int AT_ONCE_MAX = 2;

  private static final Logger LOG = LoggerFactory.getLogger(OpsRoutes.class);

  private final ReadinessGate readiness;
  private final Explain explain;
  private final Loop loop;
  private final PrometheusMeterRegistry registry;
  private final GpuCollector gpus;
  private final boolean gpuMetrics;
  private final InspectionCache inspections;
  private final Counter shed;
  private final Supplier<Optional<String>> missing;
  private final Function<String, Future<Optional<String>>> schedulerMessages;
  private final Function<String, Future<Optional<NodeFilter>>> filters;

  /**
   * @param gpuMetrics whether there are series of each GPU while this replica may decide
   * @param missing what readiness lacks beside what the gate says, as a sentence
   * @param schedulerMessages why kube-scheduler has not placed a pod, by {@code namespace/name}
   * @param filters which nodes a pod excludes, likewise; empty where the API server does not say
   */
  public OpsRoutes(
      ReadinessGate readiness,
      Explain explain,
      InspectionCache inspections,
      Loop loop,
      PrometheusMeterRegistry registry,
      GpuCollector gpus,
      boolean gpuMetrics,
      Supplier<Optional<String>> missing,
      Function<String, Future<Optional<String>>> schedulerMessages,
      Function<String, Future<Optional<NodeFilter>>> filters) {
    this.readiness = readiness;
    this.explain = explain;
    this.loop = loop;
    this.registry = registry;
    this.gpus = gpus;
    this.gpuMetrics = gpuMetrics;
    this.missing = missing;
    this.schedulerMessages = schedulerMessages;
    this.filters = filters;
    this.inspections = inspections;
    this.shed =
        Counter.builder("tranche.extender.pages.shed")
            .description("Pages of the metrics port refused because others are being made.")
            .register(registry);
  }

  public Router router(Vertx vertx) {
    Router router = Router.router(vertx);
    router.get("/metrics").handler(few(call -> metrics(vertx, call)));
    // Alive is who answers from the loop that decides.
    router.get("/healthz").handler(call -> answer(call, loop.ask(() -> "ok\n"), TEXT));
    router.get("/readyz").handler(this::ready);
    router.get("/explain").handler(OpsRoutes::named);
    router.get("/explain").handler(few(call -> explain(vertx, call)));
    router.get("/inspect").handler(few(call -> inspect(vertx, call)));
    router.errorHandler(
        404,
        call -> said(call, 404, "the pages are /metrics, /healthz, /readyz, /explain, /inspect"));
    router.errorHandler(400, call -> said(call, 400, "the request is not understood"));
    return router;
  }

  /** Whoever reaches the port may ask, and each page costs time that decisions need. */
  private Handler<RoutingContext> few(Function<RoutingContext, Future<?>> page) {
    var free = new Semaphore(AT_ONCE_MAX);
    return call -> {
      if (free.tryAcquire()) {
        page.apply(call).onComplete(done -> free.release());
      } else {
        shed.increment();
        call.response().putHeader("Retry-After", "1");
        said(call, 503, "this page is being made for others; ask again in a second");
      }
    };
  }

  private Future<?> metrics(Vertx vertx, RoutingContext call) {
    return inPieces(
        vertx,
        call,
        METRICS_TYPE,
        (inspection, to) -> {
          gpus.show(inspection, gpuMetrics && !readiness.closed());
          registry.scrape(to, METRICS_TYPE);
        });
  }

  @FunctionalInterface
  private interface Page {
    void write(Inspection inspection, OutputStream to) throws IOException;
  }

  /** Written on a worker: of thousands of nodes it is long, and health must not wait for it. */
  private Future<?> inPieces(Vertx vertx, RoutingContext call, String type, Page page) {
    var response = call.response().putHeader("Content-Type", type).putHeader("Vary", GZIP_ASKED);
    boolean packed = Gzip.accepted(call.request().getHeader(GZIP_ASKED));
    if (packed) {
      response.putHeader("Content-Encoding", "gzip");
    }
    return inspections
        .latest()
        .compose(now -> vertx.executeBlocking(() -> write(page, now, response, packed), false))
        .onFailure(
            cause -> {
              if (response.headWritten()) {
                LOG.warn(
                    "the client did not read {} to its end: {}",
                    call.request().path(),
                    cause.toString());
                response.reset();
              } else {
                response.headers().remove("Content-Encoding");
                failed(call, cause);
              }
            });
  }

  private static Void write(Page page, Inspection inspection, HttpServerResponse to, boolean packed)
      throws IOException {
    OutputStream pieces = new PageStreamer(to);
    OutputStream body = packed ? new GZIPOutputStream(pieces, PACKED_BYTES) : pieces;
    page.write(inspection, body);
    body.close();
    return null;
  }

  private void ready(RoutingContext call) {
    loop.ask(() -> new Lacks(readiness.notReady(), readiness.awaitingFirstReports()))
        .onSuccess(
            lacks -> {
              Optional<String> why = missing.get().or(lacks::all);
              String ready = lacks.some().map("ready; "::concat).orElse("ready");
              call.response().setStatusCode(why.isEmpty() ? 200 : 503);
              call.response().putHeader("Content-Type", TEXT).end(why.orElse(ready) + "\n");
            });
  }

  /**
   * @param all nothing can be decided for want of it
   * @param some nobody can be rejected for want of it
   */
  private record Lacks(Optional<String> all, Optional<String> some) {}

  private static void named(RoutingContext call) {
    String pod = call.request().getParam("pod", "");
    if (pod.indexOf('/') < 1) {
      said(call, 400, "name a pod: /explain?pod=namespace/name");
    } else {
      call.next();
    }
  }

  /** Judged and written on a worker; the loop only says what it knows. */
  private Future<?> explain(Vertx vertx, RoutingContext call) {
    String pod = call.request().getParam("pod", "");
    boolean json = wantsJson(call);
    Future<Optional<String>> text =
        loop.ask(() -> explain.of(pod))
            .compose(known -> page(vertx, pod, known))
            .compose(this::withSchedulerMessage)
            .map(known -> known.map(found -> written(found, json)));
    return text.onSuccess(
            found -> {
              if (found.isPresent()) {
                call.response().putHeader("Content-Type", json ? JSON : TEXT).end(found.get());
              } else {
                said(
                    call,
                    404,
                    "nothing is known of this pod: it asks for no GPU, does not exist, or was never"
                        + " filtered here");
              }
            })
        .onFailure(bug -> failed(call, bug));
  }

  private Future<Optional<JsonObject>> page(
      Vertx vertx, String pod, Optional<Explain.Known> known) {
    if (known.isEmpty()) {
      return Future.succeededFuture(Optional.empty());
    }
    Explain.Known found = known.get();
    return found
        .filter(pod, filters)
        .compose(by -> vertx.executeBlocking(() -> found.page().apply(by), false))
        .map(page -> Optional.of(Objects.requireNonNull(page)));
  }

  /** Of a pod that waits: kube-scheduler may have excluded nodes before it asked us. */
  private Future<Optional<JsonObject>> withSchedulerMessage(Optional<JsonObject> known) {
    if (known.filter(json -> "waiting".equals(json.getString("state"))).isEmpty()) {
      return Future.succeededFuture(known);
    }
    JsonObject json = known.orElseThrow();
    return schedulerMessages
        .apply(json.getString("pod"))
        .map(
            message -> {
              message.ifPresent(
                  text ->
                      json.put("kubeScheduler", text)
                          .put(
                              "whatToDo",
                              new JsonArray(SchedulerAdvice.of(text, json.getString("resource")))));
              return known;
            });
  }

  private static String written(JsonObject found, boolean json) {
    return json ? found.encodePrettily() + "\n" : Pages.explanation(found);
  }

  private Future<?> inspect(Vertx vertx, RoutingContext call) {
    boolean json = wantsJson(call);
    return inPieces(
        vertx,
        call,
        json ? JSON : TEXT,
        (inspection, to) -> {
          var text = new OutputStreamWriter(to, StandardCharsets.UTF_8);
          if (json) {
            Pages.json(inspection, text);
          } else {
            Pages.inspection(inspection, text);
          }
          text.flush();
        });
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
    LOG.error("{} failed", call.request().path(), bug);
    said(call, 500, "the extender failed; its log says how");
  }

  /**
   * A sentence of ours: nothing that the caller sent is in it, and no browser takes it for HTML.
   */
  private static void said(RoutingContext call, int status, String sentence) {
    call.response()
        .setStatusCode(status)
        .putHeader("Content-Type", TEXT)
        .putHeader("X-Content-Type-Options", "nosniff")
        .end(sentence + "\n");
  }
}
