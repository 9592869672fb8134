package dev.tranche.extender.http;

import dev.tranche.api.listen.Gzip;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.state.Loop;
import dev.tranche.extender.state.ReadinessGate;
import io.micrometer.core.instrument.Counter;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** For Prometheus and the kubelet: metrics and health. */
public final class OpsRoutes {
  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String GZIP_ASKED = "Accept-Encoding";
  private static final int PACKED_BYTES = 16 * 1024;
  private static final String EXPLAIN_MOVED =
      "moved to the read API: kubectl tranche explain POD, or"
          + " /api/v1/pods/NAMESPACE/NAME?output=table on port 9445 by kubectl port-forward";
  private static final String INSPECT_MOVED =
      "moved to the read API: kubectl tranche top gpus, or"
          + " /api/v1/gpus?output=wide on port 9445 by kubectl port-forward";

  /** Scrapes; each Prometheus asks one at a time. */
  private static final int AT_ONCE_MAX = 2;

  private static final Logger LOG = LoggerFactory.getLogger(OpsRoutes.class);

  private final ReadinessGate readiness;
  private final Loop loop;
  private final PrometheusMeterRegistry registry;
  private final GpuCollector gpus;
  private final boolean gpuMetrics;
  private final InspectionCache inspections;
  private final Counter shed;
  private final Supplier<Optional<String>> missing;

  /**
   * @param gpuMetrics whether there are series of each GPU while this replica may decide
   * @param missing what readiness lacks beside what the gate says, as a sentence
   */
  public OpsRoutes(
      ReadinessGate readiness,
      InspectionCache inspections,
      Loop loop,
      PrometheusMeterRegistry registry,
      GpuCollector gpus,
      boolean gpuMetrics,
      Supplier<Optional<String>> missing) {
    this.readiness = readiness;
    this.loop = loop;
    this.registry = registry;
    this.gpus = gpus;
    this.gpuMetrics = gpuMetrics;
    this.missing = missing;
    this.inspections = inspections;
    this.shed =
        Counter.builder("tranche.extender.pages.shed")
            .description("Scrapes refused because others are being written.")
            .register(registry);
  }

  public Router router(Vertx vertx) {
    Router router = Router.router(vertx);
    router.get("/metrics").handler(fewMetrics(vertx));
    router.get("/healthz").handler(this::health);
    router.get("/readyz").handler(this::ready);
    router.get("/explain").handler(call -> said(call, 410, EXPLAIN_MOVED));
    router.get("/inspect").handler(call -> said(call, 410, INSPECT_MOVED));
    router.errorHandler(
        404, call -> said(call, 404, "the pages are /metrics, /healthz and /readyz"));
    router.errorHandler(400, call -> said(call, 400, "the request is not understood"));
    return router;
  }

  /** Whoever reaches the port may ask, and each scrape costs time that decisions need. */
  private Handler<RoutingContext> fewMetrics(Vertx vertx) {
    var free = new Semaphore(AT_ONCE_MAX);
    return call -> {
      if (free.tryAcquire()) {
        metrics(vertx, call).onComplete(done -> free.release());
      } else {
        shed.increment();
        call.response().putHeader("Retry-After", "1");
        said(call, 503, "metrics are being written for others; ask again in a second");
      }
    };
  }

  /** Written on a worker: of thousands of nodes it is long, and health must not wait for it. */
  private Future<?> metrics(Vertx vertx, RoutingContext call) {
    var response =
        call.response().putHeader("Content-Type", METRICS_TYPE).putHeader("Vary", GZIP_ASKED);
    boolean packed = Gzip.accepted(call.request().getHeader(GZIP_ASKED));
    if (packed) {
      response.putHeader("Content-Encoding", "gzip");
    }
    return inspections
        .latest()
        .compose(now -> vertx.executeBlocking(() -> write(now, response, packed), false))
        .onFailure(
            cause -> {
              if (response.headWritten()) {
                LOG.warn("the client did not read /metrics to its end: {}", cause.toString());
                response.reset();
              } else {
                response.headers().remove("Content-Encoding");
                failed(call, cause);
              }
            });
  }

  private Void write(Inspection now, HttpServerResponse to, boolean packed) throws IOException {
    OutputStream pieces = PageStreamer.to(to);
    OutputStream body = packed ? new GZIPOutputStream(pieces, PACKED_BYTES) : pieces;
    gpus.show(now, gpuMetrics && !readiness.closed());
    registry.scrape(body, METRICS_TYPE);
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

  /** Alive is who answers from the loop that decides. */
  private void health(RoutingContext call) {
    loop.ask(() -> "ok\n")
        .onSuccess(text -> call.response().putHeader("Content-Type", TEXT).end(text))
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
