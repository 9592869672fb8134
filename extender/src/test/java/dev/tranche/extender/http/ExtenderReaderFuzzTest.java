package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.process.fuzz.Corpus;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Any body of kube-scheduler's verbs is read, or refused as malformed. */
public class ExtenderReaderFuzzTest {
  private static final ExtenderReader READER = new ExtenderReader(List.of(Names.RESOURCE));

  @Test
  void corpus() throws Exception {
    Corpus.replay(ExtenderReaderFuzzTest.class, ExtenderReaderFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] input) {
    try {
      READER.args(input).pod().ifPresent(pod -> assertThat(pod.uid()).isNotEmpty());
    } catch (MalformedException refused) {
      assertThat(refused.getMessage()).isNotEmpty();
    }
    try {
      assertThat(READER.binding(input).key()).contains("/");
    } catch (MalformedException refused) {
      assertThat(refused.getMessage()).isNotEmpty();
    }
  }
}
