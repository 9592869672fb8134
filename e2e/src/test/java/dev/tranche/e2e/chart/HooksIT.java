package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/**
 * What Helm runs at an event: its command shows it, and the library that the other tests use does
 * not.
 */
class HooksIT {
  @Test
  void testPod_asksAsAUserDoes_whereTheWebhookServesIt() throws Exception {
    assertThat(template("tests/fraction-pod", ""))
        .contains("helm.sh/hook: test", "namespace: default", "tranche.dev/gpu-fraction: \"0.1\"")
        .doesNotContain("nvidia.com/gpu: 1", "schedulerName");
  }

  @Test
  void testPod_asksForAReplicaByItself_whereTheWebhookDoesNotServe() throws Exception {
    assertThat(template("tests/fraction-pod", "--set test.namespace=tranche"))
        .contains("nvidia.com/gpu: 1", "schedulerName: tranche-scheduler")
        .doesNotContain("gpu-fraction");
    assertThat(template("tests/fraction-pod", "--set webhook.enabled=false,extender.enabled=false"))
        .contains("nvidia.com/gpu: 1")
        .doesNotContain("gpu-fraction", "schedulerName");
  }

  @Test
  void cleanup_comesAfterTheUninstallation_withItsOwnRights() throws Exception {
    String hooks = template("cleanup", "");
    assertThat(hooks.split("helm.sh/hook: post-delete", -1)).hasSize(7);
    assertThat(hooks)
        .contains("kind: Job", "cleanup]\n", "args: [--name=tranche, --namespace=tranche]")
        .contains("terminationMessagePolicy: FallbackToLogsOnError")
        .doesNotContain("component: extender", "verbs: [create");
    assertThat(RightsTest.documented("## While it is uninstalled"))
        .containsExactlyInAnyOrderElementsOf(Rights.of(hooks));
    assertThat(template("cleanup", "--set guard.enabled=false,extender.enabled=false"))
        .contains("kind: Job");
  }

  private static String template(String name, String values) throws Exception {
    return Chart.helmTemplate(values + " -s templates/" + name + ".yaml");
  }
}
