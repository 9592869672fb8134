package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;

class AdmissionReviewTest {
  @Test
  void read_findsThePodAndItsName() {
    assertThat(ReviewReader.read(Reviews.bytes("deployment")))
        .isInstanceOfSatisfying(
            Raw.Request.class,
            review -> {
              assertThat(review.createsPod()).isTrue();
              assertThat(review.uid()).isEqualTo("5b0c4d6c-9a01-4df2-a3d2-0a5f6ad6a001");
              assertThat(review.podName()).isEqualTo("serving/llm-7d9c5b6f4-*");
              assertThat(review.object().at("/metadata/annotations"))
                  .isEqualTo(Reviews.pod("deployment").at("/metadata/annotations"));
            });
  }

  @Test
  void read_leavesOtherOperationsAlone() {
    String update = new String(Reviews.bytes("deployment"), UTF_8).replace("CREATE", "UPDATE");
    assertThat(ReviewReader.read(update.getBytes(UTF_8)))
        .isInstanceOfSatisfying(
            Raw.Request.class, review -> assertThat(review.createsPod()).isFalse());
  }

  @Test
  void read_saysWhatIsWrong() {
    assertThat(read("{")).contains("cannot be read");
    assertThat(read("")).contains("not an AdmissionReview");
    assertThat(read("{\"apiVersion\":\"admission.k8s.io/v1beta1\"}")).contains("v1beta1");
    assertThat(read("[1]")).contains("not an AdmissionReview");
  }

  @Test
  void read_refusesWhatIsNoJson_onceTheUidIsKnown() {
    assertThat(guardedRefusal("\"spec\":{\"nodeName\":\"\\u12\"}")).contains("cannot be read");
    assertThat(guardedRefusal("\"spec\":{\"nodeName\":n1}")).contains("cannot be read");
    assertThat(guardedRefusal("\"spec\":{\"containers\":[{},]}")).contains("cannot be read");
    assertThat(guardedRefusal("\"status\":" + "[".repeat(2_000))).contains("more values or levels");
    assertThat(guardedRefusal("\"status\":[")).contains("cannot be read");
  }

  private static String guardedRefusal(String fields) {
    return guarded(fields) instanceof Raw.Unreadable(String uid, String message)
        ? uid + " " + message
        : "not refused";
  }

  private static Raw guarded(String fields) {
    String review =
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','operation':'CREATE',"
            + "'resource':{'resource':'pods'},'object':{";
    return ReviewReader.read((review.replace('\'', '"') + fields + "}}}").getBytes(UTF_8));
  }

  @Test
  void answer_carriesThePatchInBase64() throws Exception {
    var patch = new JsonPatch();
    patch.add("x", "metadata", "annotations", "tranche.dev/a~b");
    JsonNode response = response(Mutation.admitted(patch, List.of("careful")));
    assertThat(response.path("uid").asText()).isEqualTo("u");
    assertThat(response.path("allowed").asBoolean()).isTrue();
    assertThat(response.path("patchType").asText()).isEqualTo("JSONPatch");
    assertThat(response.at("/warnings/0").asText()).isEqualTo("careful");
    assertThat(new String(Base64.getDecoder().decode(response.path("patch").asText()), UTF_8))
        .isEqualTo(
            "[{\"op\":\"add\",\"path\":\"/metadata/annotations/tranche.dev~1a~0b\",\"value\":\"x\"}]");
  }

  @Test
  void answer_ofADenial_carriesTheSentence() {
    JsonNode response = response(new Mutation.Denied("No.", "none"));
    assertThat(response.path("allowed").asBoolean(true)).isFalse();
    assertThat(response.at("/status/message").asText()).isEqualTo("No.");
    assertThat(response.at("/status/code").asInt()).isEqualTo(403);
  }

  private static JsonNode response(Mutation mutation) {
    return Reviews.json(AdmissionReview.answer("u", Verdict.of(mutation)).toString())
        .path("response");
  }

  private static String read(String body) {
    return ReviewReader.read(body.getBytes(UTF_8)) instanceof Raw.Malformed(String reason)
        ? reason
        : "not malformed";
  }
}
