package dev.tranche.webhook.review;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.review.ReviewReader.Raw;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WarmUpTest {
  private final PodMutator mutator = new PodMutator(Reviews.RULES);

  @Test
  void reviews_areOfAPodOfOurs_andOfAnother() {
    assertThat(WarmUp.reviews().stream().map(this::mutation))
        .hasExactlyElementsOfTypes(Mutation.Patched.class, Mutation.Unchanged.class);
  }

  @Test
  void eachEntry_isAsked_andItEnds() {
    var asked = new ArrayList<String>();
    ReviewHandler first = body -> answer(asked, "first");
    ReviewHandler second = body -> answer(asked, "second");
    WarmUp.run(List.of(first, second));
    assertThat(asked).contains("first", "second").hasSizeLessThanOrEqualTo(8_000);
  }

  private static ReviewHandler.Answer answer(List<String> asked, String name) {
    asked.add(name);
    return new ReviewHandler.Answer.Review(Buffer.buffer());
  }

  private Mutation mutation(byte[] review) {
    return ReviewReader.read(review) instanceof Raw.Request request && request.createsPod()
        ? mutator.mutate(request.object(), new MutationRules.Cluster(List.of(), false))
        : new Mutation.Denied("no creation of a pod", "none");
  }
}
