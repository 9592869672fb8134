package dev.tranche.nodeplugin;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.stream.Exchange;
import dev.tranche.nodeplugin.stream.ReportStreams;
import dev.tranche.nodeplugin.stream.StreamParts;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.HostPort;
import dev.tranche.process.settings.Settings;
import io.vertx.core.Vertx;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node's reports where nothing but the streams themselves decides when one is sent. */
class ReportStreamsIT {
  @TempDir Path folder;
  private final FakeExtender extender = new FakeExtender("127.0.0.1", PluginRig.CERTIFICATE);
  private final Vertx vertx = Vertx.vertx();

  @BeforeEach
  void start() throws Exception {
    ReportStreams streams = streams(vertx, options(), extender.start(0));
    vertx.runOnContext(v -> streams.start());
  }

  @AfterEach
  void stop() throws Exception {
    vertx.close().await();
    extender.close();
  }

  @Test
  @Tag("slow")
  void nodeWithoutNews_reportsAgainAndAgain() throws Exception {
    // One when the stream opens; the others are nobody's news.
    until("three reports", () -> extender.reports().size() >= 3);
    assertThat(extender.reports().subList(0, 3))
        .extracting(NodeReport::getSequence)
        .containsExactly(1L, 2L, 3L);
  }

  @Test
  void extenderGetsWhatIsMeasuredAlone_andAllAfterANewConnection() throws Exception {
    until("a whole report", () -> extender.last().getGpusCount() == 1);
    extender.direct(NodeDirective.newBuilder());
    until("a brief one", () -> extender.last().getReadingsCount() == 1);
    assertThat(extender.last().getAppliedDirective()).isEqualTo(1);
    extender.endConnections();
    until("another stream", () -> firstReports().size() == 2);
    assertThat(firstReports().getLast().getGpusCount()).isEqualTo(1);
  }

  /** The first report of each stream. */
  private List<NodeReport> firstReports() {
    return extender.reports().stream().filter(report -> report.getSequence() == 1).toList();
  }

  private Options options() throws Exception {
    Path token = Files.writeString(folder.resolve("token"), "the-token");
    var findings = new ConfigErrors();
    Settings<Setting> settings =
        Settings.read(
            Setting.class,
            List.of(
                "--extender-ca-file=" + PluginRig.CERTIFICATE.certificatePath(),
                "--extender-token-file=" + token),
            Map.of("NODE_NAME", "node-1"),
            findings);
    Options options = Options.of(settings);
    assertThat(findings.errors()).isEmpty();
    return options;
  }

  private static ReportStreams streams(Vertx vertx, Options options, int port) {
    return new ReportStreams(
        new StreamParts(vertx, options, new Quiet(), new NodeMetrics()),
        new HostPort(PluginRig.SERVICE, port),
        host -> List.of(InetAddress.ofLiteral("127.0.0.1")));
  }

  private static final class Quiet implements Exchange {
    @Override
    public NodeReport.Builder report() {
      return NodeReport.newBuilder()
          .setSentAtMs(System.currentTimeMillis())
          .setNode("node-1")
          .addGpus(Gpu.newBuilder().setUuid("GPU-0"));
    }

    @Override
    public void apply(NodeDirective directive) {}
  }
}
