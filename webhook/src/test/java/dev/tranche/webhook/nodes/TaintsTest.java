package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Taint;
import dev.tranche.webhook.Reviews;
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
  void toleration_isReadAsKubeSchedulerDoes(String spec, boolean tolerated) {
    assertThat(TEAM.toleratedBy(Reviews.json(spec))).isEqualTo(tolerated);
  }

  @ParameterizedTest
  @CsvSource({"Gt, 949, true", "Gt, 950, false", "Lt, 951, true", "Lt, 950, false", "Gt, x, false"})
  void comparison_isOfTheTaintsValueWithTheTolerations(
      String operator, String value, boolean tolerated) {
    Taints sla = of(false, new Taint("sla", "950", "NoSchedule"));
    String spec =
        "{\"tolerations\":[{\"key\":\"sla\",\"operator\":\"%s\",\"value\":\"%s\"}]}"
            .formatted(operator, value);
    assertThat(sla.toleratedBy(Reviews.json(spec))).isEqualTo(tolerated);
  }

  @Test
  void cordonedNode_takesOnlyWhoToleratesThat() {
    Taints cordoned = of(true);
    assertThat(cordoned.toleratedBy(Reviews.json("{}"))).isFalse();
    assertThat(
            cordoned.toleratedBy(
                Reviews.json(
                    "{\"tolerations\":[{\"key\":\"node.kubernetes.io/unschedulable\",\"operator\":\"Exists\"}]}")))
        .isTrue();
  }

  @Test
  void preference_keepsNobodyAway() {
    Taints soft = of(false, new Taint("team", "x", "PreferNoSchedule"));
    assertThat(soft.toleratedBy(Reviews.json("{}"))).isTrue();
  }

  private static Taints of(boolean unschedulable, Taint... taints) {
    var spec = new NodeSpecBuilder().withUnschedulable(unschedulable);
    for (Taint taint : taints) {
      spec.addNewTaint(taint.effect(), taint.key(), null, taint.value());
    }
    return Taints.of(spec.build());
  }
}
