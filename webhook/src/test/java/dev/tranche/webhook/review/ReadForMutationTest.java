package dev.tranche.webhook.review;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Warnings about fields that a review is read for: they are found in the bytes of the request. */
class ReadForMutationTest {
  private static final GpuNode MPS = node("m", "mps");
  private static final GpuNode TIME_SLICED = node("t", "time-slicing");
  private static final String SHARE = "'annotations':{'tranche.dev/gpu-fraction':'0.5'}";
  private static final String NUMBER = "'resources':{'limits':{'nvidia.com/gpu':'1'}},";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "/dev/shm | true",
        "/dev/shm/ | true",
        "//dev//shm | true",
        "/d\\u0065v/\\u0073hm | true",
        "/dev/shm/cache | false",
        "/dev | false",
        "/data/dev/shm | false",
        "/cache | false",
      })
  void ownShm_isWarnedOf_whereANodeSharesByMps(String path, boolean warned) {
    String mount = "'volumeMounts':[{'name':'a','mountPath':'/a'},{'name':'b','mountPath':'%s'}]";
    String container = mount.formatted(path);
    for (PlainRequests plain : PlainRequests.values()) {
      for (String metadata : List.of("", SHARE)) {
        for (String scheduler : List.of("'nodeName':''", "'schedulerName':'hub'")) {
          String number = metadata.isEmpty() ? NUMBER : "";
          boolean placed =
              metadata.isEmpty() ? plain != PlainRequests.UNCHANGED : !scheduler.contains("hub");
          String pod = pod(metadata, scheduler, number + container);
          assertThat(warns(plain, pod, "hides that of MPS", TIME_SLICED, MPS))
              .as("%s %s", plain, pod)
              .isEqualTo(warned && placed);
          assertThat(warns(plain, pod, "hides that of MPS", TIME_SLICED)).isFalse();
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "'volumeMounts':null", "'volumeMounts':[]", "'env':[{'name':'shm'}]"})
  void containerWithoutMounts_isNotWarnedOf(String container) {
    String other = "{'name':'log','volumeMounts':[{'mountPath':'/dev/shm'}]}";
    String pod = pod(SHARE, "'initContainers':[" + other + "]", container);
    assertThat(warns(PlainRequests.GPUS, pod, "hides that of MPS", MPS))
        .as("only containers with GPUs are clients of MPS")
        .isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "transformer, false, true",
    "explainer, false, true",
    "predictor, false, false",
    "transformer, true, false",
  })
  void shareOfATransformer_isWarnedOf(String component, boolean number, boolean warned) {
    String labels =
        "'labels':{'x':'y','serving.kserve.io/inferenceservice':'llm','component':'%s'},"
            .formatted(component);
    String said = "is the " + component + " of InferenceService llm";
    String shared = pod(labels + SHARE, "", number ? NUMBER : "");
    assertThat(warns(PlainRequests.GPUS, shared, said, TIME_SLICED)).isEqualTo(warned);
    String plain = pod(labels, "", NUMBER);
    assertThat(warns(PlainRequests.GPUS, plain, said, TIME_SLICED)).isFalse();
  }

  private static boolean warns(PlainRequests plain, String pod, String said, GpuNode... nodes) {
    String review =
        "{'kind':'AdmissionReview','apiVersion':'admission.k8s.io/v1','request':{'uid':'u','operation':'CREATE','resource':{'resource':'pods'},'object':%s}}"
            .formatted(pod)
            .replace('\'', '"');
    Raw read = ReviewReader.read(review.getBytes(StandardCharsets.UTF_8));
    JsonNode object = ((Raw.Request) read).object();
    var cluster = Reviews.cluster(nodes);
    return Reviews.warnings(new PodMutator(PlainRequestsTest.rules(plain)).mutate(object, cluster))
        .stream()
        .anyMatch(warning -> warning.contains(said));
  }

  private static String pod(String metadata, String spec, String container) {
    String separated = container.isEmpty() ? "" : "," + container.replaceFirst(",$", "");
    return "{'metadata':{%s},'spec':{%s'containers':[{'name':'main'%s}]}}"
        .formatted(metadata.replaceFirst(",$", ""), spec.isEmpty() ? "" : spec + ",", separated);
  }

  private static GpuNode node(String name, String sharing) {
    return Reviews.node(
        name, "tranche.dev/replicas-per-gpu", "10", "tranche.dev/sharing-strategy", sharing);
  }
}
