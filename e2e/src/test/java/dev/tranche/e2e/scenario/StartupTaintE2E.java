package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Taint;
import io.fabric8.kubernetes.api.model.TaintBuilder;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** A node as an autoscaler adds it: there, tainted, and its plugin comes last. */
@Order(40)
class StartupTaintE2E extends Scenario {
  private static final String KEEPS_PLUGIN_AWAY = "example.com/installing-drivers";
  private static final String OTHERS = "example.com/others";

  @Test
  void taint_goesWhenThePluginServes_andThePodThatWaitedIsPlaced() {
    pluginLeaves(GAMMA);
    taint(
        GAMMA,
        List.of(
            soft(OTHERS),
            hard(KEEPS_PLUGIN_AWAY),
            hard(Names.STARTUP_TAINT),
            hard(Names.STARTUP_TAINT_CLUSTER_AUTOSCALER)));
    create(PodSpecs.on(GAMMA, PodSpecs.fraction("waiting", "0.3")));
    assertThat(pendingMessage("waiting")).contains("untolerated taint");
    assertThat(keys(GAMMA)).contains(Names.STARTUP_TAINT);

    taint(
        GAMMA, taints(GAMMA).stream().filter(t -> !t.getKey().equals(KEEPS_PLUGIN_AWAY)).toList());
    Await.until(
        "the startup taints to be lifted",
        60,
        () -> keys(GAMMA).equals(List.of(OTHERS)),
        () -> keys(GAMMA) + " " + tranche().parts("node-plugin").size());
    Pod placed = running("waiting");
    assertThat(nodeOf(placed)).isEqualTo(GAMMA);
    assertThat(heldGpus(placed)).hasSize(1).isEqualTo(assigned(placed));
  }

  @AfterEach
  void untaint() {
    taint(GAMMA, List.of());
    Await.until(
        "the plugin to be back",
        60,
        () -> tranche().allocatable().get(GAMMA) == 2 * Tranche.REPLICAS_PER_GPU);
  }

  /** As if it had never been there: the DaemonSet makes no new one beside the taint. */
  private static void pluginLeaves(String node) {
    taint(node, List.of(hard(KEEPS_PLUGIN_AWAY)));
    pluginsOn(node).forEach(pod -> client().resource(pod).withGracePeriod(1).delete());
    Await.until(
        "the plugin to leave and the kubelet to see it",
        90,
        () -> pluginsOn(node).isEmpty() && tranche().allocatable().get(node) == 0,
        () -> tranche().allocatable().toString());
  }

  private static List<Pod> pluginsOn(String node) {
    return tranche().parts("node-plugin").stream().filter(pod -> node.equals(nodeOf(pod))).toList();
  }

  private static Taint hard(String key) {
    return new TaintBuilder().withKey(key).withEffect("NoSchedule").build();
  }

  private static Taint soft(String key) {
    return new TaintBuilder().withKey(key).withEffect("PreferNoSchedule").build();
  }

  private static void taint(String node, List<Taint> taints) {
    client()
        .nodes()
        .withName(node)
        .edit(n -> new NodeBuilder(n).editSpec().withTaints(taints).endSpec().build());
  }

  private static List<Taint> taints(String node) {
    return client().nodes().withName(node).get().getSpec().getTaints();
  }

  private static List<String> keys(String node) {
    return taints(node).stream().map(Taint::getKey).toList();
  }
}
