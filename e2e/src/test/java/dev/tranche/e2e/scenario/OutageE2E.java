package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.client.KubernetesClientException;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Without a webhook what must go on goes on, and nothing goes wrong quietly. */
@Tag("slice2")
@Order(50)
class OutageE2E extends Scenario {
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

  static void scaleWebhook(int replicas) {
    var webhook =
        client().apps().deployments().inNamespace(Tranche.NAMESPACE).withName("tranche-webhook");
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
}
