package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReviewReaderTest {
  /** The largest that etcd stores, and more values than a pod with a thousand containers has. */
  @Test
  void reviewOfTooManyValuesOrLevels_isDeniedWithItsUid() {
    String many = "{\"a\":[" + "0,".repeat(ReviewReader.TOKENS_MAX) + "0]}";
    String deep = "{\"a\":" + "[".repeat(100) + "]".repeat(100) + "}";
    for (String pod : List.of(many, deep)) {
      assertThat(ReviewReader.read(review(pod)))
          .isEqualTo(
              new Raw.Unreadable(
                  "u1",
                  "this pod has more values or levels than the guard checks, which is too large;"
                      + " allowed are at most 100000 names and values, and 64 levels."));
    }
    assertThat(ReviewReader.read(review("{\"a\":" + "1".repeat(5_000) + "}")))
        .as("a number of so many digits")
        .isInstanceOf(Raw.Unreadable.class);
  }

  @Test
  void bodyThatEndsAnywhere_isNotTakenForAWhole() {
    byte[] whole = new String(Reviews.bytes("job"), UTF_8).strip().getBytes(UTF_8);
    for (int length = 0; length < whole.length; length++) {
      assertThat(ReviewReader.read(Arrays.copyOf(whole, length)))
          .isNotInstanceOf(Raw.Request.class);
    }
  }

  @Test
  void uid_isFoundInTheBeginning() {
    byte[] whole = review("{}");
    assertThat(ReviewReader.uid(Arrays.copyOf(whole, whole.length - 9))).isEqualTo("u1");
    assertThat(ReviewReader.uid("nothing".getBytes(UTF_8))).isEmpty();
    String pods = "{\"request\":{\"uid\":\"u-1\",\"object\":{\"metadata\":{\"uid\":\"p\"";
    assertThat(ReviewReader.uid(pods.getBytes(UTF_8))).as("the pod has one, too").isEqualTo("u-1");
  }

  private static byte[] review(String pod) {
    return "{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u1\",\"object\":%s}}"
        .formatted(pod)
        .getBytes(UTF_8);
  }
}
