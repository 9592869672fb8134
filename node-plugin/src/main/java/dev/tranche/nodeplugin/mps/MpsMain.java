package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.loop.LoopWatch;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The main class of the process {@code mps-control-daemon}. A stop ends all daemons. */
public final class MpsMain {
  public static final String COMMAND = "mps-control-daemon";

  private static final Logger LOG = LoggerFactory.getLogger(MpsMain.class);
  private static final String MOUNT_SHM = "mount-shm";
  private static final int STOP_LIMIT_MS = 25_000;

  private MpsMain() {}

  /**
   * Runs the process. With {@code mount-shm} it only mounts, for an init container.
   *
   * @return the exit status
   */
  public static int run(List<String> args, ConfigErrors findings) {
    boolean mount = !args.isEmpty() && args.getFirst().equals(MOUNT_SHM);
    List<String> flags = mount ? args.subList(1, args.size()) : args;
    Settings<Setting> settings = Settings.read(Setting.class, flags, System.getenv(), findings);
    Options options = Options.of(settings);
    findings.exitUnlessClean();
    MpsRoot root = new MpsRoot(options.mpsRootInContainer());
    return mount ? mount(root) : run(settings, options, root);
  }

  private static int mount(MpsRoot root) {
    try {
      LinuxFolders.mountShm(root.shm());
      return 0;
    } catch (MpsException | IOException e) {
      LOG.error("{}", e.getMessage());
      return 1;
    }
  }

  private static int run(Settings<Setting> settings, Options options, MpsRoot root) {
    LOG.info("options: {}", options);
    var transport = new LimitedTransport();
    Vertx vertx =
        transport.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(1)
                .setInternalBlockingPoolSize(1));
    LoopWatch.start(vertx);
    NodeMetrics metrics = new NodeMetrics();
    Path driverRoot = Path.of(settings.text(Setting.DRIVER_ROOT_CTR_PATH));
    MpsControl control =
        new MpsControl(
            options.stateDir().resolve(MpsPlan.FILE),
            () -> JnaNvml.open(driverRoot),
            root,
            settings.text(Setting.MPS_CONTROL_PROGRAM),
            metrics);
    metrics.gauge(
        "tranche.mps.daemons.serving",
        "1 while every MPS control daemon that the config needs answers, else 0.",
        () -> control.serving() ? 1 : 0);
    metrics
        .serve(vertx, transport, options.metrics(), control::readiness)
        .onSuccess(server -> LOG.info("metrics on port {}", server.actualPort()))
        .onFailure(e -> LOG.error("cannot serve metrics on {}: {}", options.metrics(), e));
    return run(control);
  }

  private static int run(MpsControl control) {
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(() -> stop(control)));
    try {
      control.run();
      return 0;
    } catch (InterruptedException | RuntimeException e) {
      LOG.error("cannot keep the MPS control daemons running", e);
      return 1;
    }
  }

  private static void stop(MpsControl control) {
    control.stop();
    try {
      if (!control.awaitEnd(STOP_LIMIT_MS)) {
        LOG.warn("the MPS control daemons do not end; the container's end will end them");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
