package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CdiKeeperIT {
  @TempDir Path root;

  /** Else the devices of the driver before stay healthy until the next sample. */
  @Test
  void driverWithoutWhatContainersNeed_isToldAtOnce_andOnce() throws Exception {
    AllocateOptions options =
        Configs.of("--device-list-strategy=cdi-cri", "--driver-root-ctr-path=" + root).allocate();
    Semaphore told = new Semaphore(0);
    Vertx vertx = Vertx.vertx();
    var cdi = new CdiKeeper(vertx, root, () -> Hardware.NONE, new NodeMetrics(), told::release);
    cdi.gpusWithSpecs(options, List.of());
    assertThat(told.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    assertThat(cdi.gpusWithSpecs(options, List.of()))
        .hasValueSatisfying(u -> assertThat(u).isEmpty());
    assertThat(told.tryAcquire(200, TimeUnit.MILLISECONDS)).isFalse();
    vertx.close().await(10, TimeUnit.SECONDS);
  }
}
