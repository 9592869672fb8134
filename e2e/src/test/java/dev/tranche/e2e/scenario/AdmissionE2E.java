package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.BindingBuilder;
import io.fabric8.kubernetes.api.model.LimitRangeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** What the API server, with the webhook and by itself, lets nobody do. */
@Order(15)
class AdmissionE2E extends Scenario {
  @Test
  void share_whereTheWebhookDoesNotServe_isDeniedByThePolicy() {
    Pod pod = PodSpecs.fraction("slipped-past", "0.3").build();
    assertThatThrownBy(
            () -> client().pods().inNamespace("kube-system").resource(pod).dryRun(true).create())
        .hasMessageContaining("it was not converted to a request");
  }

  @Test
  void bindingWithOurWords_isDeniedToOthers() {
    Pod pod = PodSpecs.plain("unbound", 1).build();
    pod.getSpec().setSchedulerName("nobody");
    create(pod);
    var binding =
        new BindingBuilder()
            .withNewMetadata()
            .withName("unbound")
            .withAnnotations(Map.of(Names.GPU, "GPU-1"))
            .endMetadata()
            .withNewTarget()
            .withKind("Node")
            .withName(ALPHA)
            .endTarget()
            .build();
    assertThatThrownBy(() -> client().bindings().inNamespace(namespace).resource(binding).create())
        .hasMessageContaining("may only be created by Tranche's extender");
  }

  @Test
  void dryRun_showsThePodAsItWouldBe_andLeavesNothing() {
    Pod pod =
        client()
            .pods()
            .inNamespace(namespace)
            .resource(PodSpecs.fraction("dry", "0.3").build())
            .dryRun(true)
            .create();
    assertThat(pod.getMetadata().getAnnotations()).containsEntry(Names.REPLICAS_PER_GPU, "10");
    assertThat(pods()).isEmpty();
  }

  @Test
  void quota_countsReplicas() {
    String hard = "--hard=requests." + Names.RESOURCE + "=5";
    kubectl("-n", namespace, "create", "quota", "gpus", hard);
    create(PodSpecs.fraction("half", "0.5"));
    running("half");
    assertThatThrownBy(() -> create(PodSpecs.fraction("more", "0.1")))
        .hasMessageContaining("exceeded quota");
  }

  @Test
  void limitRange_withZeroAsDefault_boundsSharesAndLeavesOthersAlone() {
    var zero = Map.of(Names.RESOURCE, new Quantity("0"));
    client()
        .resource(
            new LimitRangeBuilder()
                .withNewMetadata()
                .withName("gpus")
                .withNamespace(namespace)
                .endMetadata()
                .withNewSpec()
                .addNewLimit()
                .withType("Container")
                .withMax(Map.of(Names.RESOURCE, new Quantity("5")))
                .withDefault(zero)
                .withDefaultRequest(zero)
                .endLimit()
                .endSpec()
                .build())
        .create();
    create(PodSpecs.fraction("half", "0.5"));
    create(PodSpecs.pod("bare"));
    running("half");
    assertThat(running("bare").getSpec().getSchedulerName()).isEqualTo("default-scheduler");
    assertThatThrownBy(() -> create(PodSpecs.fraction("more", "0.6")))
        .hasMessageContaining("maximum " + Names.RESOURCE);
  }
}
