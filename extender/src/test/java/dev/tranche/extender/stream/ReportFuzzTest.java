package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.process.fuzz.Corpus;
import org.junit.jupiter.api.Test;

/**
 * Any report is refused by a sentence, or applied without an exception. A report that is repeated
 * changes nothing.
 */
public class ReportFuzzTest {
  private static final String NODE = "n";

  @Test
  void corpus() throws Exception {
    Corpus.replay(ReportFuzzTest.class, ReportFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] input) {
    NodeReport report;
    try {
      report = NodeReport.parseFrom(input);
    } catch (InvalidProtocolBufferException refused) {
      return;
    }
    if (ReportBounds.of(report).violation().isPresent()) {
      return;
    }
    var ledger = new Ledger(Timing.DEFAULT, since1970Ms -> since1970Ms);
    ReportReader.Reading first = ReportReader.read(NODE, report, 1_000, null);
    ledger.apply(first.report(), 1_000);
    NodeState before = first.report().state();
    ReportReader.Reading second = ReportReader.read(NODE, report, 2_000, before);
    assertThat(second.report().state()).isEqualTo(before);
    ledger.apply(second.report(), 2_000);
    assertThat(ledger.view(NODE, hold -> true, 2_000).gpus())
        .allSatisfy(
            gpu -> {
              assertThat(gpu.freeReplicas()).isBetween(0, gpu.facts().replicas());
              assertThat(gpu.freeClients()).isNotNegative();
            });
  }
}
