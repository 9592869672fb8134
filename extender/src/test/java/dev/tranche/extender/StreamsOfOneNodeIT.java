package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.stream.FakeNode;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.process.log.Logged;
import io.vertx.grpc.common.GrpcStatus;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several streams with the token of one node, as of a plugin that restarts or of a thief. */
final class StreamsOfOneNodeIT {
  @AutoClose private RunningExtender running;

  @BeforeEach
  void start() throws Exception {
    running = new RunningExtender(new MockCluster());
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
    int streams = 60;
    try (var logged = Logged.by(StreamServer.class)) {
      FakeNode newest = connectAndReport();
      for (int i = 1; i < streams; i++) {
        FakeNode older = newest;
        newest = connectAndReport();
        assertThat(older.ended.get()).startsWith(GrpcStatus.ABORTED.code + " ");
        older.close();
      }
      newest.close();
      assertThat(logged.messages())
          .filteredOn(line -> line.contains("opened its stream"))
          .hasSizeBetween(1, streams - 1);
    }
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
