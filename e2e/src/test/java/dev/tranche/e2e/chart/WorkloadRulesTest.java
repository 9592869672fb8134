package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Fraction;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the chart's policies warn of in templates of workloads, whose pods come later. */
class WorkloadRulesTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "'template':{'metadata':{'annotations':%s},'spec':{}}",
        "'jobTemplate':{'spec':{'template':{'metadata':{'annotations':%s},'spec':{}}}}"
      })
  void workload_isWarnedOfWhatItsPodsWouldNotGet(String form) {
    var warns = AdmissionRulesTest.policy("tranche-workload-annotations");
    String good = form.replace("%s", "{'tranche.dev/gpu-fraction':'0.3'}");
    for (String bare :
        List.of(form.replace("%s", "{}"), form.replace("'annotations':%s", ""), good)) {
      assertThat(
              AdmissionRulesTest.allowed(
                  warns, "{'metadata':{},'spec':{" + bare + "}}", "{}", "me"))
          .isTrue();
    }
    String misplaced = "{'metadata':{'annotations':" + AdmissionRulesTest.HALF + "},'spec':{%s}}";
    assertThat(AdmissionRulesTest.allowed(warns, misplaced.replace("%s", good), "{}", "me"))
        .isTrue();
    for (String none :
        List.of(form.replace("%s", "{}"), form.replace("'metadata':{'annotations':%s},", ""))) {
      assertThat(AdmissionRulesTest.allowed(warns, misplaced.replace("%s", none), "{}", "me"))
          .isFalse();
      assertThat(
              AdmissionRulesTest.allowed(
                  warns, misplaced.replace("%s", none), "{}", "system:kube-controller-manager"))
          .isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0.3, true",
    "30%, true",
    "0.5%, true",
    "1/3, true",
    "' 1 / 3 ', true",
    "1, true",
    "2, true",
    "1.0, true",
    ".5, true",
    "010, true",
    "0.30000000000000004, true",
    "0, false",
    "0.0, false",
    "0%, false",
    "1.5, false",
    "half, false",
    "-0.5, false",
    "'', false"
  })
  void fractionInATemplate_isWarnedOf_whereTheWebhookWouldDenyIt(String text, boolean allowed) {
    String workload =
        "{'metadata':{},'spec':{'template':{'metadata':{'annotations':{'tranche.dev/gpu-fraction.a':'%s'}}}}}";
    assertThat(
            AdmissionRulesTest.allowed(
                AdmissionRulesTest.policy("tranche-workload-annotations"),
                workload.replace("%s", text),
                "{}",
                "me"))
        .isEqualTo(allowed);
    assertThat(Fraction.parse(text) instanceof Fraction.Parsed.Valid).isEqualTo(allowed);
  }

  @ParameterizedTest
  @CsvSource({
    "gpu-fractoin, 1, Did you mean tranche.dev/gpu-fraction?",
    "gpu_fraction, 1, Did you mean tranche.dev/gpu-fraction?",
    "GPU-fraction, 1, Did you mean tranche.dev/gpu-fraction?",
    "fraction, 1, Did you mean tranche.dev/gpu-fraction?",
    "gpu-memroy, 1, Did you mean tranche.dev/gpu-memory?",
    "gpu-modle, 1, Did you mean tranche.dev/gpu-model?",
    "gpu-contianer, 1, Did you mean tranche.dev/gpu-container?",
    "gpu-cout, 1, Did you mean tranche.dev/gpu-count?",
    "something, 1, 'Correct its name, or remove it.'",
    "gpu-fraction, 1, ''",
    "gpu-fraction.main, 1, ''",
    "gpu-memory, 1, ''",
    "gpu-memory.main, 1, ''",
    "gpu-memory-limit, none, ''",
    "gpu-memory-limit.main, 2Gi, ''",
    "gpu-count, 1, ''",
    "gpu-container, 1, ''",
    "gpu-placement, load, ''",
    "gpu-model, 1, ''",
    "gpu-uuid, GPU-1, ''",
    "gpu, 1, ''",
    "replicas-per-gpu, 1, ''",
    "granted-fraction, 1, ''",
    "granted-memory, 1, ''",
    "granted-replicas, 1/10, ''",
    "gpu-model-granted, 1, ''",
    "gpus-requested, 1, ''",
    "webhook-added, x, ''",
  })
  void annotationInATemplate_isWarnedOf_ifItIsUnknown(String name, String value, String advice) {
    var workload =
        AdmissionRulesTest.json(
            "{'metadata':{},'spec':{'template':{'metadata':{'annotations':{'tranche.dev/%s':'%s'}},'spec':{'containers':[{'name':'1'}]}}}}"
                .formatted(name, value));
    Map<String, Object> request =
        Map.of("userInfo", Map.of("username", "me"), "operation", "UPDATE");
    String warning =
        "annotation tranche.dev/%s is unknown to Tranche: it has no effect. %s"
            .formatted(name, advice);
    assertThat(
            Cel.refusals(
                AdmissionRulesTest.policy("tranche-workload-annotations"),
                request,
                workload,
                Map.of()))
        .isEqualTo(advice.isEmpty() ? List.of() : List.of(warning));
  }

  @ParameterizedTest
  @CsvSource({
    "gpu-memory, 4Gi, true",
    "gpu-memory.main, 1.5e9, true",
    "gpu-memory, 4GB, false",
    "gpu-memory.main, four, false",
    "gpu-memory-limit, all, false",
    "gpu-container, main, true",
    "gpu-container, first, true",
    "gpu-container, mian, false",
    "gpu-count, 2, true",
    "gpu-count, 0, false",
    "gpu-count, two, false",
    "gpu-placement, packed, true",
    "gpu-placement, fast, false",
    "gpu-model, Tesla T4, true",
    "gpu-model, 'Tesla T4, !NVIDIA A10', true",
    "gpu-model, '! Tesla T4', true",
    "gpu-model, '!', false",
    "gpu-model, 'Tesla T4,', false",
    "gpu-model, '', false",
    "gpu-uuid, GPU-6e2f, true",
    "gpu-uuid, 'GPU-6e2f , !MIG-91ab', true",
    "gpu-uuid, 0, false",
    "gpu-uuid, 'GPU-6e2f,', false",
  })
  void valueInATemplate_isWarnedOf_whereTheWebhookWouldDenyIt(
      String name, String value, boolean allowed) {
    String template =
        "'template':{'metadata':{'annotations':{'tranche.dev/%s':'%s'}},'spec':{'containers':[{'name':'main'}],'initContainers':[{'name':'first'}]}}"
            .formatted(name, value);
    var warns = AdmissionRulesTest.policy("tranche-workload-annotations");
    for (String spec : List.of(template, "'jobTemplate':{'spec':{" + template + "}}")) {
      String workload = "{'metadata':{},'spec':{" + spec + "}}";
      assertThat(AdmissionRulesTest.allowed(warns, workload, "{}", "me"))
          .as(spec)
          .isEqualTo(allowed);
    }
  }

  /** No webhook sees a pod that requests nothing. */
  @ParameterizedTest
  @CsvSource({
    "gpu-fraction, default-scheduler, tranche.dev/gpu-fraction",
    "gpu-memory, tranche-scheduler, tranche.dev/gpu-memory",
    "gpu-fraction, kai-scheduler, ''",
    "tranche.dev/fraction, default-scheduler, tranche.dev/gpu-fraction",
    "tranche.dev/gpu-fraction, default-scheduler, ''",
    "other.dev/gpu-fraction, default-scheduler, ''",
    "tranche.io/gpu-fraction, default-scheduler, tranche.dev/gpu-fraction",
    "tranch.dev/gpu-fraction, default-scheduler, tranche.dev/gpu-fraction",
    "trnache.dev/gpu-memory.main, default-scheduler, tranche.dev/gpu-memory",
    "tranche/gpu-memory-limit, default-scheduler, tranche.dev/gpu-memory-limit",
    "www.tranche.de/gpu-count, default-scheduler, ''",
    "tranche.io/gpu, default-scheduler, ''",
    "branch.dev/gpu-model, default-scheduler, ''",
    "nvidia.com/gpu-model, default-scheduler, ''",
  })
  void annotationOfAPod_isWarnedOf_ifItMeansOurs(String name, String scheduler, String meant) {
    String pod =
        "{'metadata':{'annotations':{'%s':'0.3'%s}},'spec':{'schedulerName':'%s','containers':[]}}";
    String warning =
        "annotation %s is unknown to Tranche: it has no effect. Did you mean %s?"
            .formatted(name, meant);
    assertThat(warnings("workload-annotations", pod.formatted(name, "", scheduler)))
        .isEqualTo(meant.isEmpty() ? List.of() : List.of(warning));
    String converted = ",'tranche.dev/replicas-per-gpu':'10'";
    assertThat(warnings("workload-annotations", pod.formatted(name, converted, scheduler)))
        .as("the webhook has warned")
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "requests.nvidia.com/gpu, 15, ''",
    "requests.nvidia.com/gpu, 1k, ''",
    "cpu, 1500m, ''",
    "requests.nvidia.com/gpu, 1500m, 'replicas of a GPU, such as \"40\" for 2 GPUs'",
    "nvidia.com/gpu, 1, only by the key requests.nvidia.com/gpu",
    "limits.nvidia.com/gpu, 1, only by the key requests.nvidia.com/gpu",
  })
  void quotaThatLimitsNothing_isWarnedOf(String key, String value, String text) {
    assertThat(warnings("quotas", "{'spec':{'hard':{'%s':'%s'}}}".formatted(key, value)))
        .hasSize(text.isEmpty() ? 0 : 1)
        .allMatch(warning -> warning.contains(text));
  }

  private static List<String> warnings(String policy, String object) {
    return Cel.refusals(
        AdmissionRulesTest.policy("tranche-" + policy),
        Map.of("userInfo", Map.of("username", "me"), "operation", "CREATE"),
        AdmissionRulesTest.json(object),
        null);
  }

  /** Such as of the extender, whose pods have an annotation of the chart. */
  @Test
  void chartsOwnWorkloads_areWarnedOfNothing() {
    List<HasMetadata> workloads =
        documents(Chart.render(Map.of()))
            .filter(document -> document.contains("apiVersion: apps/v1"))
            .map(document -> (HasMetadata) Serialization.unmarshal(document))
            .toList();
    assertThat(workloads).hasSizeGreaterThan(2);
    for (HasMetadata workload : workloads) {
      String text = Serialization.asJson(workload);
      assertThat(
              AdmissionRulesTest.allowed(
                  AdmissionRulesTest.policy("tranche-workload-annotations"), text, "{}", "me"))
          .isTrue();
    }
  }
}
