package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReviewReaderTest {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private final Guard guard =
      new Guard(
          new GuardRules(
              GuardMode.VOID,
              true,
              Set.of(),
              List.of("nvidia.com/gpu"),
              "/var/lib/kubelet",
              List.of()),
          node -> Set.of());

  /** No field is left out, so none can be invisible to the guard. */
  @ParameterizedTest
  @ValueSource(strings = {"deployment", "job", "plain-gpu", "sidecar-and-init"})
  void pod_isReadAsAWhole(String name) {
    assertThat(read(Reviews.bytes(name)).object()).isEqualTo(Reviews.pod(name));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'env':[{'name':'\\u004eVIDIA_VISIBLE_DEVICES','value':'all'}]",
        "'volumeMounts':[{'mountPath':'/var/run/nvidi\\u0061-container-devices/0'}]",
      })
  void escapedTexts_areJudgedAsOthers(String fields) {
    String pod = "{'spec':{'containers':[{'name':'c',%s}]}}".formatted(fields).replace('\'', '"');
    assertThat(verdict(read(review(pod)).object())).contains("audit").contains("voided");
  }

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
                  "this pod has more values or levels than the guard checks, which is too large; allowed are at most 100000 names and values, and 64 levels."));
    }
    assertThat(ReviewReader.read(review("{\"a\":" + "1".repeat(5_000) + "}")))
        .as("a number of so many digits")
        .isInstanceOf(Raw.Unreadable.class);
  }

  @Test
  void anyJson_isReadAsAParserReadsIt() {
    for (long seed : Seeds.of(300)) {
      RandomGenerator random = Seeds.random(seed);
      ObjectNode pod = NODES.objectNode();
      pod.putObject("spec").set("nodeSelector", tree(random, 0));
      pod.set("status", tree(random, 0));
      String text = seed % 2 == 0 ? pod.toString() : pod.toPrettyString();
      assertThat(read(review(text)).object())
          .as("seed %d", seed)
          .isEqualTo(Reviews.json(pod.toString()));
    }
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
  void brokenBody_isAnAnswer() {
    byte[] whole = Reviews.bytes("sidecar-and-init");
    byte[] marks = "{}[],:\"\\u0-ntf\n".getBytes(UTF_8);
    for (long seed : Seeds.of(500)) {
      RandomGenerator random = Seeds.random(seed);
      byte[] broken = whole.clone();
      for (int hits = 0; hits < 3; hits++) {
        broken[random.nextInt(broken.length)] = marks[random.nextInt(marks.length)];
      }
      assertThat(ReviewReader.read(broken)).as("seed %d", seed).isNotNull();
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

  private String verdict(JsonNode pod) {
    return AdmissionReview.answer("u", guard.judge(GuardedPod.created("n", pod), GuardMode.VOID))
        .toString();
  }

  private static Raw.Request read(byte[] body) {
    return (Raw.Request) ReviewReader.read(body);
  }

  private static byte[] review(String pod) {
    return "{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u1\",\"object\":%s}}"
        .formatted(pod)
        .getBytes(UTF_8);
  }

  private static JsonNode tree(RandomGenerator random, int depth) {
    int kind = random.nextInt(depth < 4 ? 8 : 6);
    return switch (kind) {
      case 0 -> NODES.textNode(text(random));
      case 1 -> NODES.numberNode(random.nextInt());
      case 2 -> NODES.numberNode(random.nextLong());
      case 3 -> NODES.booleanNode(random.nextBoolean());
      case 4 -> NODES.nullNode();
      case 5 -> NODES.numberNode(BigInteger.valueOf(random.nextLong()).shiftLeft(70));
      case 6 -> {
        ArrayNode array = NODES.arrayNode();
        random.ints(random.nextInt(5)).forEach(i -> array.add(tree(random, depth + 1)));
        yield array;
      }
      default -> {
        ObjectNode fields = NODES.objectNode();
        random
            .ints(random.nextInt(5))
            .forEach(i -> fields.set(text(random), tree(random, depth + 1)));
        yield fields;
      }
    };
  }

  /** With quotes, backslashes, control characters, and characters of one to four bytes. */
  private static String text(RandomGenerator random) {
    var text = new StringBuilder();
    random
        .ints(random.nextInt(20), 0, 7)
        .forEach(
            i ->
                text.appendCodePoint(
                    switch (i) {
                      case 0 -> '"';
                      case 1 -> '\\';
                      case 2 -> random.nextInt(32);
                      case 3 -> 'é';
                      case 4 -> 0x1F600 + random.nextInt(64);
                      case 5 -> '中';
                      default -> 'a' + random.nextInt(26);
                    }));
    return text.toString();
  }
}
