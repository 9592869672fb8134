package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
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
      case Parsed.Valid<PodBody.PostedPod>(var posted) -> {
        assertThat(posted.pod().uid()).isNotNull();
        assertThat(posted.pod().requests()).isNotEmpty();
      }
      case Parsed.Refused<PodBody.PostedPod>(var problem) -> assertThat(problem).isNotNull();
    }
  }
}
