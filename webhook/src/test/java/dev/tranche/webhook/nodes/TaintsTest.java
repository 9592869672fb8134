package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.api.Taint;
import io.fabric8.kubernetes.api.model.NodeSpecBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TaintsTest {
  private static final Taints TEAM = of(false, new Taint("team", "x", "NoSchedule"));

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | false",
        "{'tolerations':[{'operator':'Exists'}]} | true",
        "{'tolerations':[{'key':'team','operator':'Exists'}]} | true",
        "{'tolerations':[{'key':'team','operator':'Exists','effect':'NoSchedule'}]} | true",
        "{'tolerations':[{'key':'team','operator':'Exists','effect':'NoExecute'}]} | false",
        "{'tolerations':[{'key':'team','value':'x'}]} | true",
        "{'tolerations':[{'key':'team','operator':'Equal','value':'y'}]} | false",
        "{'tolerations':[{'key':'other','operator':'Exists'}]} | false",
        "{'tolerations':[{'operator':'Equal','value':'x'}]} | false",
      })
  void toleration_isReadAsKubeSchedulerDoes(String spec, boolean tolerated) throws Exception {
    var json = new ObjectMapper().readTree(spec.replace('\'', '"'));
    assertThat(TEAM.toleratedBy(json)).isEqualTo(tolerated);
  }

  @ParameterizedTest
  @CsvSource({"Gt, 949, true", "Gt, 950, false", "Lt, 951, true", "Lt, 950, false", "Gt, x, false"})
  void comparison_isOfTheTaintsValueWithTheTolerations(
      String operator, String value, boolean tolerated) throws Exception {
    Taints sla = of(false, new Taint("sla", "950", "NoSchedule"));
    String spec =
        "{\"tolerations\":[{\"key\":\"sla\",\"operator\":\"%s\",\"value\":\"%s\"}]}"
            .formatted(operator, value);
    assertThat(sla.toleratedBy(new ObjectMapper().readTree(spec))).isEqualTo(tolerated);
  }

  @Test
  void cordonedNode_takesOnlyWhoToleratesThat() throws Exception {
    var json = new ObjectMapper();
    Taints cordoned = of(true);
    assertThat(cordoned.toleratedBy(json.readTree("{}"))).isFalse();
    assertThat(
            cordoned.toleratedBy(
                json.readTree(
                    "{\"tolerations\":[{\"key\":\"node.kubernetes.io/unschedulable\",\"operator\":\"Exists\"}]}")))
        .isTrue();
  }

  @Test
  void preference_keepsNobodyAway() throws Exception {
    Taints soft = of(false, new Taint("team", "x", "PreferNoSchedule"));
    assertThat(soft.toleratedBy(new ObjectMapper().readTree("{}"))).isTrue();
  }

  private static Taints of(boolean unschedulable, Taint... taints) {
    var spec = new NodeSpecBuilder().withUnschedulable(unschedulable);
    for (Taint taint : taints) {
      spec.addNewTaint(taint.effect(), taint.key(), null, taint.value());
    }
    return Taints.of(spec.build());
  }
}
