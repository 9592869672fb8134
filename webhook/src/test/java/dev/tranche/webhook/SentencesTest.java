package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Fraction;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Warning;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every sentence that a pod's owner may read: what brings it up, and that docs/errors.md has it.
 */
class SentencesTest {
  private static final Pattern PLACEHOLDER = Pattern.compile("%(\\d\\$)?[sd]");
  private static final GpuNode T4 =
      node("t4", Map.of("nvidia.com/gpu.memory", "15360", "nvidia.com/gpu.product", "Tesla-T4"));
  private static final GpuNode FOREIGN =
      new GpuNode("other", Map.of(), Map.of("nvidia.com/gpu", 8L), Taints.NONE);
  private static final GpuNode MPS =
      node("m", Map.of("tranche.dev/sharing-strategy", "mps", "nvidia.com/gpu.memory", "15360"));

  /** Annotations without our prefix, as JSON; the spec; the node that there is. */
  record Pod(String annotations, String spec, List<GpuNode> nodes, Map<String, String> labels) {
    Pod(String annotations, String spec, List<GpuNode> nodes) {
      this(annotations, spec, nodes, Map.of());
    }

    Pod labelled(String label, String value) {
      var more = new TreeMap<>(labels);
      more.put(label, value);
      return new Pod(annotations, spec, nodes, more);
    }

    static Pod of(String annotations) {
      return new Pod(annotations, "{'containers':[{'name':'main'}]}", List.of(T4));
    }

    static Pod of(String annotations, String container) {
      return new Pod(
          annotations, "{'containers':[{'name':'main'," + container + "}]}", List.of(T4));
    }

    Pod with(String field) {
      return new Pod(annotations, spec.replaceFirst("\\{", "{" + field + ","), nodes);
    }

    Pod on(GpuNode... others) {
      return new Pod(annotations, spec, List.of(others));
    }

    Mutation mutate() {
      ObjectNode pod = (ObjectNode) json("{\"metadata\":{}}");
      JsonNode parsed = json(annotations);
      ObjectNode map = pod.withObject("/metadata/annotations");
      parsed.forEachEntry(
          (key, value) ->
              map.set(
                  key.startsWith("kai:") || key.contains("/")
                      ? key.replace("kai:", "")
                      : "tranche.dev/" + key,
                  value));
      ObjectNode labelled = pod.withObject("/metadata").putObject("labels");
      labels.forEach(labelled::put);
      pod.set("spec", json(spec));
      boolean plain =
          Stream.of("7", "300m", "0.5")
              .anyMatch(n -> spec.contains("'nvidia.com/gpu':'" + n + "'"));
      return (plain ? WHOLE : MUTATOR).mutate(pod, Reviews.cluster(nodes));
    }
  }

  private static final PodMutator MUTATOR =
      new PodMutator(
          Reviews.limits(Set.of(SharingSystem.values()), new MutationRules.Limits(true, false)));

  private static final String HALF = "{'gpu-fraction':'0.5'}";

  private static final List<Arguments> DENIALS =
      List.of(
          denied(Denial.FRACTION_MALFORMED, Pod.of("{'gpu-fraction':'0'}")),
          denied(Denial.FRACTION_MALFORMED, Pod.of("{'gpu-fraction.main':'-1'}")),
          denied(Denial.FRACTION_MALFORMED, Pod.of("{'gpu-fraction':'1.5'}")),
          denied(Denial.FRACTION_MALFORMED, Pod.of("{'gpu-fraction':''}")),
          denied(Denial.MEMORY_MALFORMED, Pod.of("{'gpu-memory':'4GiB'}")),
          denied(Denial.MEMORY_MALFORMED, Pod.of("{'gpu-memory':'0'}")),
          denied(Denial.MEMORY_MALFORMED, Pod.of("{'gpu-memory':'-4Gi'}")),
          denied(Denial.MEMORY_TOO_SMALL, Pod.of("{'gpu-memory':'4096'}")),
          denied(Denial.MEMORY_UNKNOWN, Pod.of("{'gpu-memory':'4Gi'}").on()),
          denied(Denial.MEMORY_TOO_LARGE, Pod.of("{'gpu-memory':'15Gi'}")),
          denied(Denial.LIMIT_MALFORMED, Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit':'all'}")),
          denied(
              Denial.LIMIT_MALFORMED,
              Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit.main':'2048'}")),
          denied(Denial.LIMIT_OPT_OUT, Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit':'none'}")),
          denied(
              Denial.LIMIT_ABOVE_GRANT, Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit':'8Gi'}")),
          denied(
              Denial.NO_SUCH_CONTAINER,
              Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit.other':'1Gi'}")),
          denied(Denial.COUNT_MALFORMED, Pod.of("{'gpu-fraction':'0.5','gpu-count':'two'}")),
          denied(Denial.COUNT_MALFORMED, Pod.of("{'gpu-fraction':'0.5','gpu-count':'0'}")),
          denied(Denial.COUNT_MALFORMED, Pod.of("{'gpu-fraction':'0.5','gpu-count':'2000'}")),
          denied(Denial.COUNT_WITH_WHOLE_GPUS, Pod.of("{'gpu-fraction':'2','gpu-count':'2'}")),
          denied(Denial.MISSING_SHARE, Pod.of("{'gpu-count':'2'}")),
          denied(Denial.MISSING_SHARE, Pod.of("{'gpu-container':'main'}")),
          denied(Denial.MISSING_SHARE, Pod.of("{'gpu-fraction.main':'1','gpu-container':'main'}")),
          denied(Denial.NO_SUCH_CONTAINER, Pod.of("{'gpu-memory.other':'4Gi'}")),
          denied(Denial.NO_SUCH_CONTAINER, Pod.of("{'gpu-fraction':'1','gpu-container':'o'}")),
          denied(Denial.DUPLICATE_REQUEST, Pod.of("{'gpu-fraction':'0.5','gpu-memory':'4Gi'}")),
          denied(
              Denial.DUPLICATE_REQUEST, Pod.of("{'gpu-fraction':'0.5','gpu-memory.main':'4Gi'}")),
          denied(
              Denial.DUPLICATE_REQUEST, Pod.of("{'gpu-fraction':'0.5','gpu-fraction.main':'0.5'}")),
          denied(Denial.PLACEMENT_UNKNOWN, Pod.of("{'gpu-fraction':'1','gpu-placement':'fast'}")),
          denied(
              Denial.PLAIN_REQUESTS_UNKNOWN,
              Pod.of("{'plain-requests':'off'}", "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          denied(Denial.LIST_MALFORMED, Pod.of("{'gpu-fraction':'1','gpu-model':'a,!'}")),
          denied(Denial.LIST_MALFORMED, Pod.of("{'gpu-fraction':'1','gpu-model':'a,,b'}")),
          denied(Denial.LIST_MALFORMED, Pod.of("{'gpu-fraction':'1','gpu-uuid':'0'}")),
          denied(
              Denial.LIST_TOO_LONG,
              Pod.of("{'gpu-fraction':'1','gpu-model':'" + "T4,".repeat(64) + "T4'}")),
          denied(
              Denial.LIST_TOO_LONG,
              Pod.of("{'gpu-fraction':'1','gpu-uuid':'GPU-" + "x".repeat(4_300) + "'}")),
          denied(Denial.OWN_REQUEST, Pod.of(HALF, "'resources':{'limits':{'nvidia.com/gpu':'1'}}")),
          denied(
              Denial.REQUEST_OF_MORE_GPUS,
              Pod.of(HALF, "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          denied(
              Denial.REQUEST_OF_MORE_GPUS,
              Pod.of(
                  "{'gpu-fraction':'0.5','gpu-count':'2'}",
                  "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          denied(
              Denial.OWN_REQUEST,
              Pod.of(
                  "{'gpu-fraction':'0.5','kubernetes.io/limit-ranger':'LimitRanger plugin set: cpu,"
                      + " nvidia.com/gpu request for container main; nvidia.com/gpu limit for"
                      + " container main'}",
                  "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          denied(
              Denial.REQUEST_OF_MORE_GPUS,
              Pod.of(
                  "{'gpu-fraction':'0.5','kubernetes.io/limit-ranger':'LimitRanger plugin set:"
                      + " nvidia.com/gpu limit for container main2; cpu limit for container main;"
                      + " nvidia.com/gpu limit for init container main'}",
                  "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          denied(
              Denial.OTHER_RESOURCE,
              Pod.of(HALF, "'resources':{'limits':{'nvidia.com/mig-1g.5gb':'1'}}")),
          denied(Denial.PRIVILEGED, Pod.of(HALF, "'securityContext':{'privileged':true}")),
          denied(
              Denial.OTHER_SCHEDULER,
              Pod.of(HALF, "'resources':{'limits':{'nvidia.com/gpu':'1'}}")
                  .with("'schedulerName':'hub-user-scheduler'")),
          denied(Denial.NODE_NAME, Pod.of(HALF).with("'nodeName':'n1'")),
          denied(Denial.WINDOWS, Pod.of(HALF).with("'os':{'name':'windows'}")),
          denied(
              Denial.INIT_ABOVE_ONE_GPU,
              Pod.of("{'gpu-fraction':'2','gpu-fraction.warm':'0.1'}")
                  .with("'initContainers':[{'name':'warm'}]")),
          denied(
              Denial.PLAIN_NOT_WHOLE,
              Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'300m'}}")),
          denied(
              Denial.PLAIN_NOT_WHOLE,
              Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'0.5'}}")),
          denied(
              Denial.CONFLICTING_ANNOTATIONS,
              Pod.of("{'gpu-fraction':'1','kai:gpu-fraction':'0.5'}")),
          denied(Denial.COMPAT_MEMORY_MALFORMED, Pod.of("{'kai:gpu-memory':'4Gi'}")),
          denied(
              Denial.COMPAT_COUNTS_DIFFER,
              new Pod(
                  "{}",
                  "{'containers':[{'name':'a','resources':{'limits':{'nvidia.com/gpu':'1','nvidia.com/gpumem':'1024'}}},{'name':'b','resources':{'limits':{'nvidia.com/gpu':'2','nvidia.com/gpumem':'1024'}}}]}",
                  List.of(T4))),
          denied(
              Denial.COMPAT_VALUE_UNKNOWN,
              Pod.of("{'nvidia.com/vgpu-mode':'vm','gpu-fraction':'1'}")),
          denied(
              Denial.COMPAT_VALUE_UNKNOWN,
              Pod.of(
                  "{'nvidia.com/container.main.gpu-compute.mode':'fair','kai:gpu-fraction':'1'}")),
          denied(
              Denial.ABOVE_ANY_NODE,
              Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'1M'}}")),
          denied(Denial.MORE, Pod.of(many())),
          denied(Denial.TOO_LARGE, Pod.of(HALF).with("'nodeSelector':{" + labels(300) + "}")));

  private static String labels(int count) {
    return IntStream.range(0, count)
        .mapToObj("'l%d':'v'"::formatted)
        .collect(Collectors.joining(","));
  }

  private static final List<Arguments> WARNINGS =
      List.of(
          warned(Warning.ROUNDED_UP, Pod.of("{'gpu-fraction':'1/3'}")),
          warned(Warning.MEMORY_ROUNDED_UP, Pod.of("{'gpu-memory':'4Gi'}")),
          warned(
              Warning.NODES_DISAGREE,
              Pod.of(HALF).on(T4, Reviews.node("b", "tranche.dev/replicas-per-gpu", "4"))),
          warned(
              Warning.MEMORIES_DISAGREE,
              Pod.of("{'gpu-memory':'4Gi'}")
                  .on(T4, node("a", Map.of("nvidia.com/gpu.memory", "81920")))),
          warned(Warning.HOST_PID_OFF_MPS, Pod.of(HALF).with("'hostPID':true").on(T4, MPS)),
          warned(Warning.NO_NODE, Pod.of(HALF).with("'nodeSelector':{'zone':'none'}")),
          warned(Warning.NO_NODE, Pod.of("{'gpu-fraction':'1','gpu-model':'H100'}")),
          warned(Warning.NO_EFFECT, Pod.of("{'gpu-model':'Tesla T4'}")),
          warned(Warning.NO_EFFECT, Pod.of("{'gpu-memory-limit':'1Gi'}")),
          warned(Warning.LIMIT_NO_EFFECT, Pod.of("{'gpu-fraction':'1','gpu-memory-limit':'1Gi'}")),
          warned(Warning.LIMIT_SMALL, Pod.of("{'gpu-fraction':'0.5','gpu-memory-limit':'512Mi'}")),
          warned(Warning.UNKNOWN, Pod.of("{'gpu-fractoin':'1'}")),
          warned(Warning.UNKNOWN, Pod.of("{'gpu_fraction.main':'1'}")),
          warned(Warning.UNKNOWN, Pod.of("{'something':'1'}")),
          warned(Warning.FOREIGN_SCHEDULER, Pod.of(HALF).with("'schedulerName':'kai-scheduler'")),
          warned(Warning.WHOLE_GPUS, Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          warned(
              Warning.NUMBER_TAKEN_BACK,
              Pod.of(
                  "{'gpus-requested':'main=1','replicas-per-gpu':'10'}",
                  "'resources':{'limits':{'nvidia.com/gpu':'10'}}")),
          warned(
              Warning.LIMIT_RANGE,
              Pod.of(
                  "{'kubernetes.io/limit-ranger':'LimitRanger plugin set: nvidia.com/gpu limit for"
                      + " container main'}",
                  "'resources':{'limits':{'nvidia.com/gpu':'7'}}")),
          warned(
              Warning.CONTAINER_SKIPPED,
              new Pod(HALF, "{'containers':[{'name':'istio-proxy'},{'name':'a'}]}", List.of(T4))),
          warned(
              Warning.CONTAINER_CHOSEN,
              new Pod(HALF, "{'containers':[{'name':'a'},{'name':'b'}]}", List.of(T4))),
          warned(
              Warning.DEFAULT_CONTAINER_CHOSEN,
              new Pod(
                  "{'gpu-fraction':'0.5','kubectl.kubernetes.io/default-container':'b'}",
                  "{'containers':[{'name':'a'},{'name':'b'}]}",
                  List.of(T4))),
          warned(
              Warning.TOO_MANY_GPUS,
              Pod.of("{'gpu-fraction':'3'}").on(node("n", Map.of("nvidia.com/gpu.count", "2")))),
          warned(
              Warning.TOO_MANY_GPUS,
              Pod.of("{'gpu-fraction':'0.3','gpu-count':'3'}")
                  .on(node("n", Map.of("nvidia.com/gpu.count", "2")))),
          warned(
              Warning.TOO_MANY_GPUS,
              Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'7'}}")
                  .on(node("n", Map.of("nvidia.com/gpu.count", "2")))),
          warned(
              Warning.FOREIGN_NODES,
              Pod.of("{}", "'resources':{'limits':{'nvidia.com/gpu':'7'}}").on(T4, FOREIGN)),
          warned(
              Warning.OPT_OUT_NO_EFFECT,
              Pod.of("{'gpu-fraction':'0.5','plain-requests':'unchanged'}")),
          warned(Warning.CLAIMS, Pod.of(HALF, "'resources':{'claims':[{'name':'nic'}]}")),
          warned(
              Warning.SHM_HIDES_MPS,
              Pod.of(HALF, "'volumeMounts':[{'name':'shm','mountPath':'/dev/shm'}]").on(T4, MPS)),
          warned(
              Warning.KSERVE_COMPONENT,
              Pod.of(HALF)
                  .labelled("serving.kserve.io/inferenceservice", "llm")
                  .labelled("component", "transformer")),
          warned(Warning.COMPAT_TRANSLATED, Pod.of("{'kai:gpu-fraction':'0.5'}")),
          warned(
              Warning.COMPAT_IGNORED,
              Pod.of("{'hami.io/gpu-scheduler-policy':'numa','gpu-fraction':'1'}")));

  @ParameterizedTest
  @MethodSource("denials")
  void pod_isDenied(Denial denial, Pod pod) {
    assertThat(pod.mutate())
        .isInstanceOfSatisfying(
            Mutation.Denied.class,
            denied -> {
              assertThat(denied.message()).endsWith(".");
              assertThat(denied.message()).containsPattern(pattern(denial.template()));
              assertThat(denied.reason())
                  .isEqualTo(
                      (denial == Denial.MORE ? Denial.NO_SUCH_CONTAINER : denial).toString());
            });
  }

  /** Where a number counts GPUs. */
  private static final PodMutator WHOLE =
      new PodMutator(PlainRequestsTest.rules(MutationRules.PlainRequests.GPUS));

  @ParameterizedTest
  @MethodSource("warnings")
  void pod_isAdmittedWithAWarning(Warning warning, Pod pod) {
    assertThat(Reviews.warnings(pod.mutate()))
        .anySatisfy(w -> assertThat(w).containsPattern(pattern(warning.template())));
  }

  @Test
  void tables_haveEverySentence() {
    assertThat(DENIALS.stream().map(a -> (Denial) a.get()[0]).collect(Collectors.toSet()))
        .isEqualTo(EnumSet.allOf(Denial.class));
    assertThat(WARNINGS.stream().map(a -> (Warning) a.get()[0]).collect(Collectors.toSet()))
        .isEqualTo(EnumSet.allOf(Warning.class));
  }

  @ParameterizedTest
  @EnumSource(Denial.class)
  void denial_saysWhatIsAllowedOrWhatToDo(Denial denial) {
    if (denial != Denial.MORE) {
      assertThat(denial.template())
          .containsPattern(
              "(?i)(; |[.] |, (?=.*allowed))(.*)(allowed|remove|request |keep|ask|set |add"
                  + " |drop|write|for example|its containers are|label)");
    }
  }

  @ParameterizedTest
  @EnumSource(Denial.class)
  void page_explainsTheDenial(Denial denial) throws IOException {
    assertThat(page()).contains(onPage(denial.template()));
  }

  @ParameterizedTest
  @EnumSource(Warning.class)
  void page_explainsTheWarning(Warning warning) throws IOException {
    assertThat(page()).contains(onPage(warning.template()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "1/0", "half", "1.5", "5000", "99999999999999"})
  void page_explainsWhyATextIsNoFraction(String text) throws IOException {
    assertThat(Fraction.parse(text))
        .isInstanceOf(Fraction.Parsed.Malformed.class)
        .asString()
        .contains("; ");
    String reason = ((Fraction.Parsed.Malformed) Fraction.parse(text)).reason();
    assertThat(page()).contains(reason.substring(text.length() + 3, reason.indexOf(';')));
  }

  @Test
  void containersBeyondCounting_areRefused() {
    var pod = Reviews.annotated("gpu-fraction", "1");
    for (int i = 0; i < 1_000; i++) {
      pod.withArray("/spec/containers").addObject().put("name", "c" + i);
    }
    var mutator = new PodMutator(Reviews.rules(List.of("nvidia.com/gpu"), 10, "", ""));
    assertThat(Reviews.denial(mutator.mutate(pod, Reviews.cluster()))).contains("1001 containers");
  }

  @Test
  void longValues_areCutShort() {
    String message =
        Reviews.denial(
            Pod.of("{'gpu-fraction':'1','gpu-placement':'" + "x".repeat(100_000) + "'}").mutate());
    assertThat(message).hasSizeLessThan(300);
  }

  static Stream<Arguments> denials() {
    return DENIALS.stream();
  }

  static Stream<Arguments> warnings() {
    return WARNINGS.stream();
  }

  private static Arguments denied(Denial denial, Pod pod) {
    return Arguments.of(denial, pod);
  }

  private static Arguments warned(Warning warning, Pod pod) {
    return Arguments.of(warning, pod);
  }

  private static GpuNode node(String name, Map<String, String> labels) {
    return Reviews.node(
        name,
        Stream.concat(
                Stream.of(Map.entry("tranche.dev/replicas-per-gpu", "10")),
                labels.entrySet().stream())
            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue)));
  }

  private static String many() {
    return IntStream.range(0, 20)
        .mapToObj(i -> "'gpu-fraction.c" + i + "':'1'")
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String pattern(String template) {
    return Stream.of(PLACEHOLDER.split(template, -1))
        .map(Pattern::quote)
        .collect(Collectors.joining("(?s:.*?)"));
  }

  private static String onPage(String template) {
    return PLACEHOLDER.matcher(template).replaceAll("…");
  }

  private static String page() throws IOException {
    return Files.readString(Path.of("../docs/errors.md"));
  }
}
