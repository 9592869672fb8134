package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The words of KAI and of HAMi, which an administrator has switched on. */
@Tag("slice1")
@Order(200)
class CompatE2E extends Scenario {
  private static final String GPUMEM = "nvidia.com/gpumem";

  @Override
  Map<String, Object> values() {
    return Map.of("webhook.compat.kai", true, "webhook.compat.hami", true);
  }

  private static PodBuilder kaiPod(String name) {
    return PodSpecs.annotated(name, Map.of("gpu-fraction", "0.3"));
  }

  /** A quarter of a T4, in HAMi's MiB. */
  private static PodBuilder hamiPod(String name) {
    return PodSpecs.plain(name, 1)
        .editSpec()
        .editFirstContainer()
        .editResources()
        .addToLimits(GPUMEM, new Quantity("4096"))
        .endResources()
        .endContainer()
        .endSpec();
  }

  @Test
  void hamisMemory_runsOnItsShare_andIsNoResourceThatANodeWouldNeed() {
    create(hamiPod("hami"));
    Pod pod = running("hami");
    assertThat(pod.getSpec().getContainers().getFirst().getResources().getLimits())
        .containsEntry(Names.RESOURCE, new Quantity("3"))
        .doesNotContainKey(GPUMEM);
    assertThat(held(pod).get("main")).hasSize(3);
  }

  @Test
  void whereHamisWebhookIsKeptAway_itsWordsAreNotRead_butOursAndKaisAre() {
    client()
        .namespaces()
        .withName(namespace)
        .edit(
            n ->
                new NamespaceBuilder(n)
                    .editMetadata()
                    .addToLabels("hami.io/webhook", "ignore")
                    .endMetadata()
                    .build());
    assertThat(requestedReplicas(PodSpecs.fraction("ours", "0.5"))).isEqualTo("5");
    assertThat(requestedReplicas(kaiPod("kai"))).isEqualTo("3");
    // One replica, as a cluster without HAMi reads it, and a resource that no node has.
    assertThat(requestedReplicas(hamiPod("hami"))).isEqualTo("1");
    create(hamiPod("hami"));
    assertThat(pendingMessage("hami")).contains(GPUMEM);
  }

  /** What the API server makes of a pod: replicas that it requests. */
  private String requestedReplicas(PodBuilder pod) {
    Pod made = client().pods().inNamespace(namespace).resource(pod.build()).dryRun(true).create();
    return String.valueOf(
        made.getSpec().getContainers().getFirst().getResources().getLimits().get(Names.RESOURCE));
  }
}
