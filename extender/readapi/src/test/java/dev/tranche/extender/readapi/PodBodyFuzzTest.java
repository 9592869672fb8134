package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.process.fuzz.Corpus;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Any body of a what-if question is a Pod, or is refused with what is allowed. */
public class PodBodyFuzzTest {
  private static final PodBody PODS = new PodBody(List.of(Names.RESOURCE));

  @Test
  void corpus() throws Exception {
    Corpus.replay(PodBodyFuzzTest.class, PodBodyFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] input) {
    switch (PODS.parse(Buffer.buffer(input), View.ALL)) {
      case PodBody.Parsed.Valid valid -> {
        assertThat(valid.pod().uid()).isNotNull();
        assertThat(valid.pod().requests()).isNotEmpty();
      }
      case PodBody.Parsed.Refused refused -> assertThat(refused.problem()).isNotNull();
    }
  }
}
