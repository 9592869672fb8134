package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.plane.ImageFiles;
import dev.tranche.e2e.bench.webhook.FakeApi;
import dev.tranche.e2e.bench.webhook.ReviewBodies;
import dev.tranche.e2e.bench.webhook.TlsPost;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ChildProcess;
import dev.tranche.e2e.plane.ControlPlane;
import io.vertx.core.http.HttpServerOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;

/**
 * Runs the webhook's process alone, with the image's flags, on one core. The API server has one GPU
 * node. AdmissionReviews of 5 to 60 KB arrive over TLS, on connections that stay open.
 */
final class WebhookBench {
  private static final String FRACTION = "/mutate/fraction";
  private static final String GUARD = "/mutate/guard";
  private static final int RATE = 1_000;
  private static final String TASKSET = "/usr/bin/taskset";

  /**
   * The number of cores that processes can be pinned to, read before this process pins itself to
   * one.
   */
  private static final int CORES =
      Files.exists(Path.of(TASKSET)) ? Runtime.getRuntime().availableProcessors() : 1;

  private static final int WARM_ROUNDS_MAX = 30;
  private static final double STEADY_GAIN_MAX = 0.03;
  private static final int STEADY_ROUNDS = 3;

  /** By then, the JVM has given back the memory that its compilers used. */
  private static final long IDLE_MS = 15_000;

  private final SSLContext tls;
  private final int port;
  private final int seconds;

  private WebhookBench(SSLContext tls, int port, int seconds) {
    this.tls = tls;
    this.port = port;
    this.seconds = seconds;
  }

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    int port = ControlPlane.freePort();
    int ready = ControlPlane.freePort();
    Path log = Files.createTempFile("tranche-webhook", ".log");
    pinToOtherCores();
    try (var api = new FakeApi(new HttpServerOptions(), 0);
        var process = start(artifacts, "http://127.0.0.1:" + api.port(), port, ready, log)) {
      var tls = TlsPost.trusting(awaitAuthority(api, process));
      return new WebhookBench(tls, port, quick ? 3 : 10).measure(new Proc(process.pid()));
    }
  }

  private List<Figure> measure(Proc process) throws Exception {
    List<byte[]> fractions = requests(FRACTION, ReviewBodies.fractions());
    List<byte[]> others = requests(GUARD, ReviewBodies.others());
    warm(() -> closedLoop(8, fractions), () -> closedLoop(8, others));
    var figures = new ArrayList<Figure>();
    for (int connections : List.of(1, 8)) {
      double cpuBefore = process.cpuSeconds();
      double[] ms = closedLoop(connections, fractions);
      double cpuUs = (process.cpuSeconds() - cpuBefore) * 1e6 / ms.length;
      figures.add(new Figure("webhook.cpu_us_per_request." + connections, cpuUs, "us"));
      figures.add(new Figure("webhook.p50_ms." + connections, Figure.quantile(0.5, ms), "ms"));
      figures.add(
          new Figure(
              "webhook.requests_per_second." + connections, ms.length / (double) seconds, "1/s"));
    }
    double[] paced = paced(8, fractions);
    figures.add(new Figure("webhook.p99_ms.at_1000", Figure.quantile(0.99, paced), "ms"));
    double[] guarded = closedLoop(1, others);
    figures.add(
        new Figure(
            "webhook.guard.requests_per_second.1", guarded.length / (double) seconds, "1/s"));
    Thread.sleep(IDLE_MS);
    figures.add(new Figure("webhook.pss_mb", process.pssMb(), "MB"));
    return figures;
  }

  /**
   * Runs the loads until no rate has grown for some rounds: the JVM has then finished compiling.
   */
  @SafeVarargs
  private static void warm(Callable<double[]>... loads) throws Exception {
    var most = new double[loads.length];
    for (int round = 0, steady = 0; steady < STEADY_ROUNDS && round < WARM_ROUNDS_MAX; round++) {
      steady++;
      for (int i = 0; i < loads.length; i++) {
        int answers = loads[i].call().length;
        steady = answers > most[i] * (1 + STEADY_GAIN_MAX) ? 0 : steady;
        most[i] = Math.max(most[i], answers);
      }
    }
  }

  /** Sends the next request on each connection as soon as the last one is answered. */
  private double[] closedLoop(int connections, List<byte[]> requests) throws Exception {
    return runConcurrently(
        connections,
        number -> {
          var ms = DoubleStream.builder();
          try (var post = new TlsPost(tls, port)) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            for (int i = number; System.nanoTime() < end; i++) {
              long start = System.nanoTime();
              post.post(requests.get(i % requests.size()));
              ms.add((System.nanoTime() - start) / 1e6);
            }
          }
          return ms.build().toArray();
        });
  }

  /**
   * Sends requests at a fixed rate over all connections, once all are connected. A late answer
   * delays the next request, and the delay counts.
   */
  private double[] paced(int connections, List<byte[]> requests) throws Exception {
    long everyNanos = TimeUnit.SECONDS.toNanos(1) * connections / RATE;
    var connected = new CyclicBarrier(connections);
    return runConcurrently(
        connections,
        number -> {
          var ms = DoubleStream.builder();
          try (var post = new TlsPost(tls, port)) {
            post.post(requests.get(number % requests.size()));
            connected.await();
            long due = System.nanoTime() + everyNanos * number / connections;
            for (int i = 0; i < seconds * RATE / connections; i++, due += everyNanos) {
              for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
              }
              post.post(requests.get((i + number) % requests.size()));
              ms.add((System.nanoTime() - due) / 1e6);
            }
          }
          return ms.build().toArray();
        });
  }

  /** What one connection of several does. */
  private interface Connection {
    double[] run(int number) throws Exception;
  }

  private static double[] runConcurrently(int connections, Connection one) throws Exception {
    try (var threads = Executors.newFixedThreadPool(connections)) {
      var tasks = new ArrayList<Callable<double[]>>();
      for (int number = 0; number < connections; number++) {
        int mine = number;
        tasks.add(() -> one.run(mine));
      }
      var all = Stream.<double[]>builder();
      for (Future<double[]> done : threads.invokeAll(tasks)) {
        all.add(done.get());
      }
      return all.build().flatMapToDouble(Arrays::stream).toArray();
    }
  }

  private static List<byte[]> requests(String path, List<byte[]> bodies) {
    return bodies.stream().map(body -> TlsPost.request(path, body)).toList();
  }

  /** Pins this process to another core, so that the clients take no time of the webhook's core. */
  private static void pinToOtherCores() throws Exception {
    if (CORES > 1) {
      new ProcessBuilder(
              TASKSET, "-a", "-c", "-p", "1", String.valueOf(ProcessHandle.current().pid()))
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    }
  }

  private static ChildProcess start(
      Artifacts artifacts, String api, int port, int metricsPort, Path log) throws IOException {
    var command = new ArrayList<String>();
    if (CORES > 1) {
      command.addAll(List.of(TASKSET, "-c", "0"));
    }
    command.addAll(ImageFiles.of(artifacts).command("webhook"));
    command.addAll(
        List.of(
            "--namespace=tranche",
            "--listen-address=127.0.0.1:" + port,
            "--metrics-address=127.0.0.1:" + metricsPort,
            "--drain-delay=0s"));
    var environment = ImageFiles.environment(artifacts.root());
    environment.put("KUBERNETES_MASTER", api);
    return ChildProcess.start(log, command, environment);
  }

  private static byte[] awaitAuthority(FakeApi api, ChildProcess process) throws Exception {
    Supplier<byte[]> authority = () -> api.secret("tranche", "tranche-extender-tls", "ca.crt");
    Await.until(
        "the webhook's Secrets",
        60,
        () -> {
          process.requireAlive();
          return authority.get().length > 0;
        });
    // The webhook writes its Secrets before it opens its socket.
    Thread.sleep(3_000);
    return authority.get();
  }
}
