package dev.tranche.webhook.review;

import static dev.tranche.webhook.Reviews.json;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.HostileBodies;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodUpdate;
import io.fabric8.zjsonpatch.JsonPatch;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an update of a pod keeps of the webhook's changes, and what is left to the API server. */
class UpdateHandlerTest {
  private static final String VISIBLE = "{'name':'NVIDIA_VISIBLE_DEVICES','value':'";
  private static final String VOID = VISIBLE + "void'}";
  private static final String ALL = VISIBLE + "all'}";
  private static final String ONE = VISIBLE + "GPU-1'}";
  private static final String A = "{'name':'A','value':'1'}";
  private static final String B = "{'name':'B','value':'1'}";

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final WebhookMetrics metrics = new WebhookMetrics(registry);
  private final UpdateHandler fraction =
      new UpdateHandler(
          (before, after) ->
              PodUpdate.restore(
                  before, after, PlainRequestsTest.rules(MutationRules.PlainRequests.GPUS)),
          metrics);
  private final UpdateHandler guard =
      new UpdateHandler(
          new Guard(Reviews.guardRules(GuardMode.VOID, true), node -> Set.of())::restore, metrics);

  /** The number is restored only where it means the same as the replicas. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "'tranche.dev/gpus-requested':'main=1' | 10 | 1 | 10",
        "'tranche.dev/gpus-requested':'main=2' | 20 | 2 | 20",
        "'tranche.dev/gpus-requested':'main=1' | 10 | 2 | 2",
        "'tranche.dev/gpus-requested':'main=1' | 10 | 0 | 0",
        "'tranche.dev/gpus-requested':'main=2' | 20 | 1 | 1",
        "'tranche.dev/gpus-requested':'other=1' | 10 | 1 | 1",
        "'tranche.dev/gpu-fraction':'0.3' | 3 | 0 | 3",
        "'tranche.dev/gpu-fraction':'0.3' | 3 | 1 | 3",
        "'tranche.dev/gpu-fraction':'0.3' | 3 | 2 | 2",
        "'tranche.dev/gpu-fraction':'0.3' | 3 | 10 | 10",
        "'tranche.dev/gpu-fraction':'0.3','tranche.dev/gpu-count':'2' | 6 | 2 | 6",
        "'tranche.dev/gpu-fraction':'2' | 20 | 2 | 20"
      })
  void numberOfGpus_isTheReplicasThatThePodHas_andAnyOtherStays(
      String annotations, String replicas, String stated, String kept) {
    String pod =
        "'metadata':{'annotations':{'tranche.dev/replicas-per-gpu':'10',"
            + annotations
            + "}},"
            + "'spec':{'containers':[{'name':'main','resources':{'limits':{'nvidia.com/gpu':'%s'},"
            + "'requests':{'nvidia.com/gpu':'%s'}}}]}";
    JsonNode after =
        after(fraction, pod.formatted(replicas, replicas), pod.formatted(stated, replicas));
    assertThat(Reviews.replicas(after)).isEqualTo(kept);
  }

  @ParameterizedTest
  @CsvSource({
    "tranche-scheduler, default-scheduler, tranche-scheduler",
    "tranche-scheduler, kai-scheduler, kai-scheduler",
    "kai-scheduler, default-scheduler, default-scheduler"
  })
  void scheduler_isKept_whereTheDefaultOneIsStated(String before, String stated, String kept) {
    String pod = "'spec':{'schedulerName':'%s','containers':[{'name':'main'}]}";
    assertThat(
            after(fraction, pod.formatted(before), pod.formatted(stated))
                .at("/spec/schedulerName")
                .asText())
        .isEqualTo(kept);
  }

  /** The annotation says which we have added. Whoever changes another is told by the server. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "{'key':'tranche.dev/replicas-per-gpu','operator':'In','values':['10']} | true",
        "{'key':'nvidia.com/gpu.memory','operator':'Gt','values':['15359']} | true",
        "{'key':'tranche.dev/replicas-per-gpu','operator':'In','values':['4']} | false",
        "{'key':'tranche.dev/replicas-per-gpu','operator':'NotIn','values':['10']} | false",
        "{'key':'zone','operator':'In','values':['b']} | false",
      })
  void requirementOfOurs_isKept(String expression, boolean kept) {
    String added =
        "[{'key':'tranche.dev/replicas-per-gpu','operator':'In','values':['10']},{'key':'nvidia.com/gpu.memory','operator':'Gt','values':['15359']}]";
    String pod =
        "'metadata':{'annotations':{'tranche.dev/webhook-added':'{%s}'}},"
                .formatted(("'requirements':" + added).replace("'", "\\\""))
            + "'spec':{'containers':[{'name':'main'}],'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
            + "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In','values':['a']}%s]}]}}}}";
    JsonNode after = after(fraction, pod.formatted("," + expression), pod.formatted(""));
    assertThat(Reviews.expressions(after)).hasSize(kept ? 2 : 1);
  }

  /** Of a container without a GPU, which therefore has the void. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        A + "," + VOID + "|" + A + "," + ALL + "|" + A + "," + VOID,
        A + "," + VOID + "|" + ALL + "," + A + "|" + A + "," + VOID,
        VOID + "|" + ALL + ",{'name':'NVIDIA_NVSWITCH','value':'auto'}|" + VOID,
        VOID + "|" + VOID + ",{'name':'A','value':'2'}|" + VOID + ",{'name':'A','value':'2'}",
        A + "|" + A + "," + ALL + "|" + A + "," + ALL,
        ALL + "|" + ONE + "|" + ONE,
        A + "," + VOID + "|" + ALL + "|" + ALL,
        A + "," + VOID + "," + B + "|" + A + "," + ALL + "," + B + "|" + A + "," + VOID + "," + B
      })
  void variableThatWasTakenAway_staysAway_andAnyOtherChangeStays(
      String before, String stated, String kept) {
    String pod = "'spec':{'containers':[{'name':'main','env':[%s]}]}";
    assertThat(
            after(guard, pod.formatted(before), pod.formatted(stated)).at("/spec/containers/0/env"))
        .isEqualTo(json("[" + kept + "]"));
  }

  @Test
  void variableBesideAGpu_staysAway_andTheUserIsTold() {
    String pod =
        "'spec':{'containers':[{'name':'main','env':[%s],'resources':{'limits':{'nvidia.com/gpu':'3'}}}]}";
    JsonNode response = response(guard, "UPDATE", pod.formatted(A), pod.formatted(A + "," + ALL));
    assertThat(response.path("warnings").path(0).asText())
        .isEqualTo("container \"main\" declares NVIDIA_VISIBLE_DEVICES again; Tranche removed it.");
    assertThat(
            after(guard, pod.formatted(A), pod.formatted(A + "," + ALL))
                .at("/spec/containers/0/env"))
        .isEqualTo(json("[" + A + "]"));
  }

  @Test
  void imageThatChanges_changes() {
    String pod =
        "'metadata':{'annotations':{'tranche.dev/replicas-per-gpu':'10','tranche.dev/gpus-requested':'main=1'}},"
            + "'spec':{'containers':[{'name':'main','image':'%s','resources':{'limits':{'nvidia.com/gpu':'%s'}}}]}";
    JsonNode after = after(fraction, pod.formatted("a", "10"), pod.formatted("b", "1"));
    assertThat(after.at("/spec/containers/0/image").asText()).isEqualTo("b");
    assertThat(Reviews.replicas(after)).isEqualTo("10");
  }

  @Test
  void whatIsNoUpdateOfAPod_orIsNotRead_goesOnAsItIs() {
    String pod = "'spec':{'containers':[{'name':'main','env':[%s]}]}";
    for (UpdateHandler handler : List.of(fraction, guard)) {
      JsonNode created = response(handler, "CREATE", pod.formatted(VOID), pod.formatted(ALL));
      assertThat(created.path("allowed").asBoolean()).isTrue();
      assertThat(created.has("patch")).isFalse();
      String padding = "{},".repeat(100_000) + "{}";
      JsonNode large =
          response(handler, "UPDATE", pod.formatted(padding + ',' + VOID), pod.formatted(ALL));
      assertThat(large.path("allowed").asBoolean()).isTrue();
      assertThat(large.path("uid").asText()).isEqualTo("u1");
      assertThat(large.has("patch")).isFalse();
    }
    assertThat(Reviews.counted(registry, "review", "update", "outcome", "unchanged")).isEqualTo(4);
  }

  @Test
  void namesWithTheSameHashCode_areComparedInNoTime() {
    byte[] body = HostileBodies.collidingNames();
    assertTimeout(Duration.ofSeconds(1), () -> guard.review(body));
  }

  /** The API server refuses such a pod by itself. */
  @Test
  void podOfMoreContainersThanAreAdmitted_goesOnAsItIs() {
    String pod = "'spec':{'containers':[{'name':'main','env':[%s]}%s]}";
    String others = ",{}".repeat(RequestBounds.POD_CONTAINERS_MAX);
    for (String more : List.of("", others)) {
      JsonNode response =
          response(guard, "UPDATE", pod.formatted(VOID, more), pod.formatted(ALL, more));
      assertThat(response.path("allowed").asBoolean()).isTrue();
      assertThat(response.has("patch")).isEqualTo(more.isEmpty());
    }
  }

  private static JsonNode after(UpdateHandler handler, String before, String stated) {
    JsonNode response = response(handler, "UPDATE", before, stated);
    assertThat(response.path("allowed").asBoolean()).isTrue();
    JsonNode pod = json("{" + stated + "}");
    try {
      return response.has("patch")
          ? JsonPatch.apply(Reviews.JSON.readTree(response.path("patch").binaryValue()), pod)
          : pod;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static JsonNode response(
      UpdateHandler handler, String operation, String before, String stated) {
    String body =
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','operation':'%s','resource':{'resource':'pods'},'object':{%s},'oldObject':{%s}}}"
            .formatted(operation, stated, before);
    var answer = handler.review(body.replace('\'', '"').getBytes(UTF_8));
    return Reviews.json(((ReviewHandler.Answer.Review) answer).json().toString()).path("response");
  }
}
