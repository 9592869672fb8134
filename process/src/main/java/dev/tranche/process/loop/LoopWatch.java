package dev.tranche.process.loop;

import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the process once one of its event loops has not turned for a minute. A liveness probe by
 * network would not do: the kubelet probes from its node's address, which may be that of somebody
 * who floods the port.
 */
public final class LoopWatch {
  static final long TURN_MS_MAX = 60_000;
  private static final long EVERY_MS = 1_000;
  private static final Logger LOG = LoggerFactory.getLogger(LoopWatch.class);

  private final List<Executor> loops;
  private final long turnMsMax;

  LoopWatch(List<Executor> loops, long turnMsMax) {
    this.loops = loops;
    this.turnMsMax = turnMsMax;
  }

  /** Watches all event loops, from before the start of what runs on them. */
  public static void start(Vertx vertx) {
    var loops = new ArrayList<Executor>();
    ((VertxInternal) vertx).nettyEventLoopGroup().forEach(loops::add);
    var watch = new LoopWatch(loops, TURN_MS_MAX);
    Thread.ofPlatform().daemon().name("loop-watch").start(watch::run);
  }

  private void run() {
    try {
      awaitStall();
      LOG.error("an event loop has not turned for {} s; the process ends", turnMsMax / 1_000);
      Runtime.getRuntime().halt(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns once a loop has not turned for too long. */
  void awaitStall() throws InterruptedException {
    while (true) {
      var turned = new CountDownLatch(loops.size());
      loops.forEach(loop -> loop.execute(turned::countDown));
      if (!turned.await(turnMsMax, TimeUnit.MILLISECONDS)) {
        return;
      }
      Thread.sleep(EVERY_MS);
    }
  }
}
