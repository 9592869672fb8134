package dev.tranche.extender;

import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Configuration, parts, start. */
public final class ExtenderMain {
  private static final int USAGE = 2;
  private static final int FAILED = 1;
  private static final Duration STOP = Duration.ofSeconds(15);
  private static final Logger log = LoggerFactory.getLogger(ExtenderMain.class);

  private ExtenderMain() {}

  public static void main(String[] args) throws InterruptedException {
    var flags = new ExtenderFlags();
    var line = new CommandLine(flags);
    try {
      line.parseArgs(args);
    } catch (ParameterException e) {
      log.error("{}; --help lists the flags", e.getMessage());
      System.exit(USAGE);
    }
    if (CommandLine.printHelpIfRequested(line.getParseResult())) {
      return;
    }
    switch (ExtenderConfig.of(flags)) {
      case ExtenderConfig.Parsed.Invalid(var errors) -> {
        for (String error : errors) {
          log.error(error);
        }
        System.exit(USAGE);
      }
      case ExtenderConfig.Parsed.Valid(ExtenderConfig config) -> run(config);
    }
  }

  private static void run(ExtenderConfig config) throws InterruptedException {
    log.info("configuration: {}", config);
    var stopped = new CountDownLatch(1);
    var main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(stopped, main)));
    try (var client = new KubernetesClientBuilder().build();
        var extender = new Extender(config, client)) {
      extender
          .start()
          .onSuccess(
              started -> log.info("verbs on {}, metrics on {}", config.verbs(), config.metrics()))
          .onFailure(ExtenderMain::failed);
      stopped.await();
    }
  }

  private static void failed(Throwable why) {
    log.error("the extender cannot start", why);
    Runtime.getRuntime().halt(FAILED);
  }

  /** The process ends when this returns, so it waits until all parts are closed. */
  private static void stop(CountDownLatch stopped, Thread main) {
    stopped.countDown();
    try {
      main.join(STOP);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }
}
