package dev.tranche.extender.http;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.readapi.InspectionCache;
import dev.tranche.process.listen.Gzip;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.process.ops.Probe;
import io.micrometer.core.instrument.Counter;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves metrics to Prometheus and health to the kubelet. */
public final class OpsRoutes {
  private static final String ACCEPT_ENCODING = "Accept-Encoding";
  private static final int GZIP_BUFFER_BYTES = 16 * 1024;

  /** Each Prometheus sends one at a time. */
  private static final int AT_ONCE_MAX = 2;

  private static final Logger LOG = LoggerFactory.getLogger(OpsRoutes.class);

  private final Loop loop;
  private final PrometheusMeterRegistry registry;
  private final GpuCollector gpus;
  private final InspectionCache inspections;
  private final Counter shed;
  private final Supplier<Future<Probe>> ready;
  private final LineLimiter unreadLog = new LineLimiter(LOG, "/metrics that was not read by");

  public OpsRoutes(
      Loop loop,
      PrometheusMeterRegistry registry,
      GpuCollector gpus,
      InspectionCache inspections,
      Supplier<Future<Probe>> ready) {
    this.loop = loop;
    this.registry = registry;
    this.gpus = gpus;
    this.inspections = inspections;
    this.ready = ready;
    this.shed =
        Counter.builder("tranche.extender.pages.shed")
            .description("Scrapes refused because others are being answered.")
            .register(registry);
  }

  public OpsPort port(Vertx vertx) {
    return new OpsPort(
        limitedMetrics(vertx),
        // The process is healthy if the loop that decides still runs.
        () -> loop.submit(() -> Probe.ALIVE),
        ready);
  }

  /** Limits concurrent scrapes, since each takes time that decisions need. */
  private Handler<HttpServerRequest> limitedMetrics(Vertx vertx) {
    var places = new Semaphore(AT_ONCE_MAX);
    return call -> {
      if (places.tryAcquire()) {
        metrics(vertx, call).onComplete(done -> places.release());
      } else {
        shed.increment();
        call.response().putHeader("Retry-After", "1");
        OpsPort.answer(call, 503, "metrics are being written for other clients; retry in a second");
      }
    };
  }

  /**
   * Writes metrics on a worker: they are long for thousands of nodes, and health checks must not
   * wait for them.
   */
  private Future<?> metrics(Vertx vertx, HttpServerRequest call) {
    var page = new PageStreamer(call.response());
    var response =
        call.response()
            .putHeader("Content-Type", OpsPort.METRICS_TYPE)
            .putHeader("Vary", ACCEPT_ENCODING);
    boolean gzipped = Gzip.accepted(call.getHeader(ACCEPT_ENCODING));
    if (gzipped) {
      response.putHeader("Content-Encoding", "gzip");
    }
    return inspections
        .latest()
        .compose(now -> vertx.executeBlocking(() -> write(now, page, gzipped), false))
        .onFailure(
            cause -> {
              if (response.headWritten()) {
                if (unreadLog.tryAcquire(call.remoteAddress().hostAddress())) {
                  LOG.warn("the client did not read /metrics to its end: {}", cause.toString());
                }
                response.reset();
              } else {
                response.headers().remove("Content-Encoding");
                OpsPort.failed(call, cause);
              }
            });
  }

  private Void write(Inspection now, PageStreamer page, boolean gzipped) throws IOException {
    OutputStream pieces = page.inPieces();
    OutputStream body = gzipped ? new GZIPOutputStream(pieces, GZIP_BUFFER_BYTES) : pieces;
    gpus.update(now);
    registry.scrape(body, OpsPort.METRICS_TYPE);
    body.close();
    return null;
  }
}
