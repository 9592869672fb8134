package dev.tranche.extender.http;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.readapi.InspectionCache;
import dev.tranche.process.listen.Gzip;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.process.ops.Probe;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves metrics to Prometheus and health to the kubelet. Metrics are written and read on workers:
 * they are long for thousands of nodes, and health checks must not wait for them.
 */
public final class OpsRoutes {
  private static final String ACCEPT_ENCODING = "Accept-Encoding";
  private static final int GZIP_BUFFER_BYTES = 16 << 10;
  private static final int PIECE_BYTES = 64 << 10;

  /** Anyone who reaches the port may read slowly. By default Prometheus waits no longer. */
  private static final long PAGE_S_MAX = 10;

  /** How long a page serves others: each client that reads slowly keeps its page. */
  private static final Duration SHARED = Duration.ofSeconds(1);

  private static final Logger LOG = LoggerFactory.getLogger(OpsRoutes.class);

  private final Vertx vertx;
  private final PrometheusMeterRegistry registry;
  private final GpuCollector gpus;
  private final InspectionCache inspections;
  private final LineLimiter unreadLog = new LineLimiter(LOG, "/metrics that was not read by");

  private @Nullable Future<byte[]> newest;
  private long newestAtNanos;

  public OpsRoutes(
      Vertx vertx,
      PrometheusMeterRegistry registry,
      GpuCollector gpus,
      InspectionCache inspections) {
    this.vertx = vertx;
    this.registry = registry;
    this.gpus = gpus;
    this.inspections = inspections;
  }

  public OpsPort port(Supplier<Future<Probe>> ready) {
    return new OpsPort(this::metrics, ready);
  }

  private void metrics(HttpServerRequest call) {
    new Loop(vertx.getOrCreateContext())
        .completeOnLoop(packed())
        .onSuccess(page -> send(page, call))
        .onFailure(bug -> OpsPort.failed(call, bug));
  }

  /**
   * Returns the page as gzip: of tens of thousands of GPUs it must not be in memory as it is. It is
   * written once for all who ask meanwhile, since that takes time that decisions need.
   */
  private synchronized Future<byte[]> packed() {
    Future<byte[]> page = newest;
    long nowNanos = System.nanoTime();
    boolean old = nowNanos - newestAtNanos >= SHARED.toNanos();
    if (page == null || page.failed() || (page.isComplete() && old)) {
      newestAtNanos = nowNanos;
      page = inspections.latest().compose(now -> vertx.executeBlocking(() -> pack(now), false));
      newest = page;
    }
    return page;
  }

  private byte[] pack(Inspection now) throws IOException {
    var page = new ByteArrayOutputStream();
    try (var packing = new GZIPOutputStream(page, GZIP_BUFFER_BYTES)) {
      gpus.update(now);
      registry.scrape(packing, OpsPort.METRICS_TYPE);
    }
    return page.toByteArray();
  }

  private void send(byte[] packed, HttpServerRequest call) {
    HttpServerResponse response =
        call.response()
            .setChunked(true)
            .putHeader("Content-Type", OpsPort.METRICS_TYPE)
            .putHeader("Vary", ACCEPT_ENCODING);
    var page = new ByteArrayInputStream(packed);
    boolean gzipped = Gzip.accepted(call.getHeader(ACCEPT_ENCODING));
    if (gzipped) {
      response.putHeader("Content-Encoding", "gzip");
    }
    Promise<Void> sent = Promise.promise();
    vertx
        .<InputStream>executeBlocking(() -> gzipped ? page : new GZIPInputStream(page), false)
        .onSuccess(body -> send(body, response, sent))
        .onFailure(sent::fail);
    sent.future()
        .timeout(PAGE_S_MAX, TimeUnit.SECONDS)
        .onFailure(
            cause -> {
              if (unreadLog.tryAcquire(call.remoteAddress().hostAddress())) {
                LOG.warn("the client did not read /metrics to its end: {}", cause.toString());
              }
              response.reset();
            });
  }

  /** Sends each piece once the connection has taken the one before. No thread waits for that. */
  private void send(InputStream page, HttpServerResponse response, Promise<Void> sent) {
    vertx
        .executeBlocking(() -> page.readNBytes(PIECE_BYTES), false)
        .onSuccess(
            piece -> {
              if (piece.length == 0) {
                response.end().onComplete(sent);
              } else {
                response
                    .write(Buffer.buffer(piece))
                    .onSuccess(taken -> send(page, response, sent))
                    .onFailure(sent::fail);
              }
            })
        .onFailure(sent::fail);
  }
}
