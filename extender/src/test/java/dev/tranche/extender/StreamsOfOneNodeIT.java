package dev.tranche.extender;

import static dev.tranche.extender.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.stream.FakeNode;
import dev.tranche.extender.stream.StreamServer;
import io.vertx.grpc.common.GrpcStatus;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several streams with the token of one node, as of a plugin that restarts or of a thief. */
final class StreamsOfOneNodeIT {
  private RunningExtender running;

  @BeforeEach
  void start() throws Exception {
    running = new RunningExtender(new MockCluster());
  }

  @AfterEach
  void stop() {
    running.close();
  }

  /** As of a plugin that restarts, whose old connection nobody has closed. */
  @Test
  void newerStream_endsTheOlder() throws Exception {
    try (var old = connect("node-a")) {
      until(this::oneStreamReports);
      try (var restarted = connect("node-a")) {
        assertThat(old.ended.get()).startsWith(GrpcStatus.ABORTED.code + " ");
        assertThat(oneStreamReports()).isTrue();
        assertThat(restarted.ended).isNotDone();
      }
    }
  }

  @Test
  void streamsThatOneNodeOpens_areLoggedUpToALimit() throws Exception {
    var opened = new AtomicInteger();
    var handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            if (line.getMessage().contains("opened its stream")) {
              opened.incrementAndGet();
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    var log = Logger.getLogger(StreamServer.class.getName());
    Level before = log.getLevel();
    log.setLevel(Level.INFO);
    log.addHandler(handler);
    FakeNode newest = connectAndReport();
    int streams = 60;
    for (int i = 1; i < streams; i++) {
      FakeNode older = newest;
      newest = connectAndReport();
      assertThat(older.ended.get()).startsWith(GrpcStatus.ABORTED.code + " ");
      older.close();
    }
    newest.close();
    log.removeHandler(handler);
    log.setLevel(before);
    assertThat(opened.get()).isPositive().isLessThan(streams);
  }

  /**
   * Waits for the first directive. Of two streams at once, the first one's token may take longer to
   * be reviewed.
   */
  private FakeNode connectAndReport() throws Exception {
    FakeNode node = connect("node-a");
    until(() -> !node.directives.isEmpty());
    return node;
  }

  /** With the token of node-a. */
  private FakeNode connect(String reportedNode) throws Exception {
    var report = FakeNode.node(reportedNode, FakeNode.gpu("GPU-a0", 0, 5, 1L << 30));
    return running.connect("token-of-node-a", report);
  }

  private boolean oneStreamReports() throws Exception {
    return running.metrics().contains("\ntranche_extender_streams 1");
  }
}
