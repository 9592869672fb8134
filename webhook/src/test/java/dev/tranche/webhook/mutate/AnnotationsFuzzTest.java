package dev.tranche.webhook.mutate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.process.fuzz.Corpus;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.pod.Mutation;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A pod with any annotations is admitted or denied. What is admitted requests at most the replicas
 * of the most GPUs, and a second review changes nothing.
 */
public class AnnotationsFuzzTest {
  private static final int REPLICAS_PER_GPU = 10;
  private static final PodMutator MUTATOR = new PodMutator(Reviews.RULES);
  private static final MutationRules.Cluster CLUSTER = Reviews.cluster();

  @Test
  void corpus() throws Exception {
    Corpus.replay(AnnotationsFuzzTest.class, AnnotationsFuzzTest::fuzzerTestOneInput);
  }

  /**
   * @param input lines {@code KEY=VALUE}; a key without a slash begins with tranche.dev/
   */
  public static void fuzzerTestOneInput(byte[] input) {
    ObjectNode pod = Reviews.pod(annotations(new String(input, UTF_8)));
    Mutation first = MUTATOR.mutate(pod, CLUSTER);
    if (!(first instanceof Mutation.Denied)) {
      JsonNode admitted = Reviews.apply(first, pod);
      String replicas = Reviews.replicas(admitted);
      assertThat(replicas.isEmpty() ? 0 : Long.parseLong(replicas))
          .isBetween(0L, 1_024L * REPLICAS_PER_GPU);
      Mutation again = MUTATOR.mutate(admitted, CLUSTER);
      assertThat(again).isNotInstanceOf(Mutation.Denied.class);
      assertThat(Reviews.apply(again, admitted)).isEqualTo(admitted);
    }
  }

  private static Map<String, String> annotations(String text) {
    var annotations = new LinkedHashMap<String, String>();
    text.lines()
        .limit(16)
        .filter(line -> line.indexOf('=') > 0)
        .forEach(
            line -> {
              String key = line.substring(0, line.indexOf('='));
              annotations.put(
                  key.indexOf('/') < 0 ? "tranche.dev/" + key : key,
                  line.substring(line.indexOf('=') + 1));
            });
    return annotations;
  }
}
