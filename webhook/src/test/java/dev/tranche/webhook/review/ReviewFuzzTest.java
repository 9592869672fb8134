package dev.tranche.webhook.review;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.fuzz.Corpus;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Any body is read without an exception, judged and changed. */
public class ReviewFuzzTest {
  private static final MutationRules.Cluster CLUSTER = Reviews.cluster();
  private static final PodMutator MUTATOR = new PodMutator(Reviews.RULES);
  private static final Guard GUARD =
      new Guard(Reviews.guardRules(GuardMode.VOID, true), node -> Set.of());

  @Test
  void corpus() throws Exception {
    Corpus.replay(ReviewFuzzTest.class, ReviewFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] body) {
    if (ReviewReader.read(body) instanceof Raw.Request read) {
      assertThat(read.podName()).isNotNull();
      JsonNode pod = read.object();
      mutation(pod);
      verdict(pod);
    }
  }

  private static String mutation(JsonNode pod) {
    return AdmissionReview.answer("u", Verdict.of(MUTATOR.mutate(pod, CLUSTER))).toString();
  }

  private static String verdict(JsonNode pod) {
    return AdmissionReview.answer("u", GUARD.judge(Reviews.created("n", pod), GuardMode.VOID))
        .toString();
  }
}
