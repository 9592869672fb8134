package dev.tranche.e2e.bench.webhook;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;

/** Posts requests as an API server does: several at the same time on one HTTP/2 connection. */
public final class H2Posts implements AutoCloseable {
  private static final long SLACK_S = 30;

  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final HttpClient client;
  private final int port;

  public H2Posts(int port) {
    this.port = port;
    client =
        vertx.createHttpClient(
            new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_2)
                .setSsl(true)
                .setUseAlpn(true)
                .setTrustAll(true)
                .setVerifyHost(false),
            new PoolOptions().setHttp2MaxSize(1));
  }

  /**
   * @param atOnce the number of requests under way; each is sent as soon as the one before it is
   *     answered
   * @return how long each took, in milliseconds
   */
  public double[] closedLoop(String path, List<byte[]> bodies, int atOnce, int seconds)
      throws Exception {
    List<Buffer> requests = bodies.stream().map(Buffer::buffer).toList();
    var times = DoubleStream.builder();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    var done = Promise.<Object>promise();
    vertx.runOnContext(
        go -> {
          var lanes = new ArrayList<Future<?>>();
          for (int lane = 0; lane < atOnce; lane++) {
            lanes.add(lane(path, requests, lane, end, times));
          }
          Future.all(lanes).<Object>mapEmpty().onComplete(done);
        });
    done.future()
        .toCompletionStage()
        .toCompletableFuture()
        .get(seconds + SLACK_S, TimeUnit.SECONDS);
    return times.build().toArray();
  }

  private Future<?> lane(
      String path, List<Buffer> requests, int first, long end, DoubleStream.Builder times) {
    var done = Promise.<Object>promise();
    next(path, requests, first, end, times, done);
    return done.future();
  }

  private void next(
      String path,
      List<Buffer> requests,
      int i,
      long end,
      DoubleStream.Builder times,
      Promise<Object> done) {
    long start = System.nanoTime();
    if (start >= end) {
      done.complete();
      return;
    }
    post(path, requests.get(i % requests.size()))
        .onSuccess(
            answered -> {
              times.add((System.nanoTime() - start) / 1e6);
              next(path, requests, i + 1, end, times, done);
            })
        .onFailure(done::fail);
  }

  private Future<Buffer> post(String path, Buffer body) {
    return client
        .request(HttpMethod.POST, port, "127.0.0.1", path)
        .compose(request -> request.putHeader("content-type", "application/json").send(body))
        .compose(
            answer ->
                answer.statusCode() == 200 && answer.version() == HttpVersion.HTTP_2
                    ? answer.body()
                    : Future.failedFuture(
                        new IOException(answer.version() + " " + answer.statusCode())));
  }

  @Override
  public void close() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(SLACK_S, TimeUnit.SECONDS);
  }
}
