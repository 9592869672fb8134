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
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.review.ReviewReader.Purpose;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReviewReaderTest {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private final PodMutator mutator = new PodMutator(Reviews.RULES);
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

  @ParameterizedTest
  @ValueSource(strings = {"deployment", "job", "plain-gpu", "sidecar-and-init"})
  void whatIsKept_isMutatedAndJudgedAsTheWhole(String name) {
    ObjectNode whole = Reviews.pod(name);
    JsonNode kept = read(Reviews.bytes(name), Purpose.MUTATION).object();
    assertThat(mutation(kept)).isEqualTo(mutation(whole));
    assertThat(verdict(read(Reviews.bytes(name), Purpose.GUARD).object()))
        .isEqualTo(verdict(whole));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'env':[]",
        "'env':[{'name':'A','value':'b'}]",
        "'env':[{'name':'A','value':'b'},{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]",
        "'env':[{'name':'A','value':'b'},{'name':'\\u004eVIDIA_VISIBLE_DEVICES','value':'all'}]",
        "'env':[{'name':'NVIDIA_VISIBLE_DEVICES','valueFrom':{'fieldRef':{}}}]",
        "'env':null,'envFrom':[{'configMapRef':{'name':'c'}}]",
        "'volumeMounts':[{'mountPath':'/a'},{'mountPath':'/var/run/nvidia-container-devices/0'}]",
        "'volumeMounts':[{'mountPath':'/var/run/nvidi\\u0061-container-devices/0'}]",
        "'securityContext':{'privileged':true}",
        "'resources':{'limits':{'nvidia.com/gpu':2}},'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]",
      })
  void containersThatReach_areJudgedAsInTheWhole(String fields) {
    String pod =
        "{'metadata':{'name':'p','annotations':{'cdi.k8s.io/x':'y'}},'spec':{'volumes':[{'name':'d',"
            + "'hostPath':{'path':'/dev/nvidia0'}}],'containers':[{'name':'c',%s}]}}"
                .formatted(fields);
    JsonNode whole = Reviews.json(pod.replace('\'', '"'));
    JsonNode kept = read(review(pod.replace('\'', '"')), Purpose.GUARD).object();
    assertThat(verdict(kept)).isEqualTo(verdict(whole));
  }

  @Test
  void variablesOfOthers_areKeptAsOne() {
    String pod =
        "{'spec':{'containers':[{'env':[{'name':'A'},{'name':'B'}],'args':['x']},{'env':[]}]}}";
    assertThat(read(review(pod.replace('\'', '"')), Purpose.GUARD).object())
        .isEqualTo(
            Reviews.json("{'spec':{'containers':[{'env':[null]},{'env':[]}]}}".replace('\'', '"')));
  }

  /** One that is meant for a webhook; others may be many. */
  @Test
  void labels_areSteppedOver_butForTheOneThatIsLookedAt() {
    String pod = "{'metadata':{'labels':{'app':'a','hami.io/webhook':'ignore','x':{'y':'z'}}}}";
    assertThat(read(review(pod.replace('\'', '"')), Purpose.MUTATION).object())
        .isEqualTo(
            Reviews.json(
                "{'metadata':{'labels':{'hami.io/webhook':'ignore'}}}".replace('\'', '"')));
    assertThat(read(review(pod.replace('\'', '"')), Purpose.GUARD).object())
        .isEqualTo(Reviews.json("{\"metadata\":{}}"));
  }

  /** They decide which nodes' replicas per GPU and memory count. */
  @Test
  void tolerations_areKeptForTheMutation() {
    String pod = "{'spec':{'tolerations':[{'key':'team','operator':'Exists'}],'nodeName':'a'}}";
    assertThat(read(review(pod.replace('\'', '"')), Purpose.MUTATION).object())
        .isEqualTo(Reviews.json(pod.replace('\'', '"')));
    assertThat(read(review(pod.replace('\'', '"')), Purpose.GUARD).object())
        .isEqualTo(Reviews.json("{\"spec\":{\"nodeName\":\"a\"}}"));
  }

  /** Names of fields that are skipped in their place are a user's words elsewhere. */
  @ParameterizedTest
  @EnumSource(Purpose.class)
  void skippedNames_areKeptInOtherPlaces(Purpose purpose) {
    String pod =
        "{'metadata':{'annotations':{'labels':'1','env':'2'}},"
            + "'spec':{'nodeSelector':{'env':'prod','status':'x','volumes':'y','args':'z'}}}";
    JsonNode whole = Reviews.json(pod.replace('\'', '"'));
    assertThat(read(review(pod.replace('\'', '"')), purpose).object()).isEqualTo(whole);
  }

  @Test
  void anyJson_isReadAsAParserReadsIt() {
    for (long seed : Seeds.of(300)) {
      RandomGenerator random = Seeds.random(seed);
      ObjectNode pod = NODES.objectNode();
      pod.putObject("spec").set("nodeSelector", tree(random, 0));
      pod.set("status", tree(random, 0));
      String text = seed % 2 == 0 ? pod.toString() : pod.toPrettyString();
      pod.remove("status");
      assertThat(read(review(text), Purpose.MUTATION).object())
          .as("seed %d", seed)
          .isEqualTo(Reviews.json(pod.toString()));
    }
  }

  @Test
  void bodyThatEndsAnywhere_isNotTakenForAWhole() {
    byte[] whole = new String(Reviews.bytes("job"), UTF_8).strip().getBytes(UTF_8);
    for (int length = 0; length < whole.length; length++) {
      assertThat(ReviewReader.read(Arrays.copyOf(whole, length), Purpose.GUARD))
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
      assertThat(ReviewReader.read(broken, Purpose.MUTATION)).as("seed %d", seed).isNotNull();
    }
  }

  @Test
  void uid_isFoundInTheBeginning() {
    byte[] whole = review("{}");
    assertThat(ReviewReader.uid(Arrays.copyOf(whole, whole.length - 9))).isEqualTo("u1");
    assertThat(ReviewReader.uid("nothing".getBytes(UTF_8))).isEmpty();
  }

  private String mutation(JsonNode pod) {
    var cluster = new MutationRules.Cluster(List.of(), true);
    return new String(AdmissionReview.answer("u", mutator.mutate(pod, cluster)), UTF_8);
  }

  private String verdict(JsonNode pod) {
    return new String(
        AdmissionReview.answer("u", guard.judge(GuardedPod.created("n", pod), GuardMode.VOID)),
        UTF_8);
  }

  private static Raw.Request read(byte[] body, Purpose purpose) {
    return (Raw.Request) ReviewReader.read(body, purpose);
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
