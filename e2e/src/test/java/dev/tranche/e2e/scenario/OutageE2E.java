package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Parts of ours that are gone: what must go on goes on, and nothing goes wrong quietly. */
class OutageE2E extends Scenario {
  private static final int PODS = 200;

  @Test
  void withoutWebhook_otherPodsAreCreated_andFractionsAreRefusedWithAnError() {
    scaleWebhook(0);
    try {
      create(PodSpecs.pod("bystander"));
      assertThat(nodeOf(running("bystander"))).isNotNull();
      assertThatThrownBy(() -> create(PodSpecs.fraction("unshared", "0.3")))
          .isInstanceOf(KubernetesClientException.class)
          .hasMessageContaining("fraction.tranche.dev");
      assertThatThrownBy(() -> create(PodSpecs.plain("plain", 1)))
          .as("two schedulers on one node would fill it twice")
          .isInstanceOf(KubernetesClientException.class)
          .hasMessageContaining("fraction.tranche.dev");
    } finally {
      scaleWebhook(2);
    }
    create(PodSpecs.fraction("shared", "0.3"));
    assertThat(held(running("shared")).get("main")).hasSize(3);
  }

  private static void scaleWebhook(int replicas) {
    var webhook =
        tranche()
            .client()
            .apps()
            .deployments()
            .inNamespace(Tranche.NAMESPACE)
            .withName("tranche-webhook");
    webhook.scale(replicas);
    Await.until(
        replicas + " webhooks",
        90,
        () -> {
          var status = webhook.get().getStatus();
          int ready = status.getReadyReplicas() == null ? 0 : status.getReadyReplicas();
          return ready == replicas && tranche().parts("webhook").size() == replicas;
        });
  }

  @Test
  void leaderKilledInTheMiddleOfABurst_losesNoPodAndGivesNothingTwice() {
    for (int i = 0; i < PODS; i++) {
      if (i == PODS / 2) {
        killLeader();
      }
      create(brief("p" + i));
    }
    Await.until(
        PODS + " pods to end well",
        300,
        () -> phases().getOrDefault("Succeeded", 0L) == PODS,
        () -> phases() + tranche().cluster().kubectl("-n", namespace, "get", "events").out());
    assertThat(pods()).allSatisfy(pod -> assertThat(assigned(pod)).hasSize(1));
    Await.until(
        "the Ledger to be empty again",
        20,
        () -> Inspection.of(tranche()).nothingHeld(),
        () -> tranche().ask("/inspect", "text/plain").toString());
  }

  /** Ends by itself, so that later ones find room. */
  private static Pod brief(String name) {
    Container main =
        new ContainerBuilder(PodSpecs.container("main")).withCommand(List.of("sleep", "1")).build();
    return new PodBuilder(PodSpecs.fraction(name, "0.3").build())
        .editSpec()
        .withRestartPolicy("Never")
        .withContainers(main)
        .endSpec()
        .build();
  }

  /** Without a word: no drain, no lease released. */
  private static void killLeader() {
    String holder =
        tranche()
            .client()
            .leases()
            .inNamespace(Tranche.NAMESPACE)
            .withName(MODE.equals("service") ? "tranche-extender" : "tranche-scheduler")
            .get()
            .getSpec()
            .getHolderIdentity();
    Pod leader =
        tranche().parts("extender").stream()
            .filter(pod -> holder.startsWith(pod.getMetadata().getName()))
            .findFirst()
            .orElseThrow();
    tranche().client().resource(leader).withGracePeriod(0).delete();
  }
}
