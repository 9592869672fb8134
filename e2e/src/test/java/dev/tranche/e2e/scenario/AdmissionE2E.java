package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.BindingBuilder;
import io.fabric8.kubernetes.api.model.LimitRangeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceQuotaBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** What the API server, with the webhook and by itself, lets nobody do. */
@Order(15)
class AdmissionE2E extends Scenario {
  @Test
  void whatWasAskedAndGranted_cannotBeChanged_andTheRestCan() {
    create(PodSpecs.fraction("fixed", "0.3"));
    running("fixed");
    for (String key :
        new String[] {Names.GPU_FRACTION, Names.GPU, Names.REPLICAS_PER_GPU, Names.GPU_MODEL}) {
      assertThatThrownBy(() -> edit("fixed", annotation(key, "1")))
          .as(key)
          .isInstanceOf(KubernetesClientException.class)
          .hasMessageContaining("cannot be changed");
    }
    edit("fixed", annotation("example.com/mine", "1"));
    assertThat(get("fixed").getMetadata().getAnnotations())
        .containsEntry("example.com/mine", "1")
        .containsEntry(Names.GPU_FRACTION, "0.3");
  }

  @Test
  void podWithoutOurWords_isUpdatedAsAlways_butGetsNoneOfThem() {
    create(PodSpecs.pod("bare"));
    running("bare");
    edit("bare", pod -> pod.edit().editMetadata().addToLabels("mine", "1").endMetadata().build());
    assertThatThrownBy(() -> edit("bare", annotation(Names.GPU, "GPU-1")))
        .hasMessageContaining("cannot be changed");
  }

  @Test
  void share_whereTheWebhookDoesNotServe_isDeniedByThePolicy() {
    Pod pod = PodSpecs.fraction("slipped-past", "0.3").build();
    assertThatThrownBy(
            () ->
                tranche()
                    .client()
                    .pods()
                    .inNamespace("kube-system")
                    .resource(pod)
                    .dryRun(true)
                    .create())
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
    assertThatThrownBy(
            () -> tranche().client().bindings().inNamespace(namespace).resource(binding).create())
        .hasMessageContaining("may only be created by Tranche's extender");
  }

  @Test
  void dryRun_showsThePodAsItWouldBe_andLeavesNothing() {
    Pod pod =
        tranche()
            .client()
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
    tranche()
        .client()
        .resource(
            new ResourceQuotaBuilder()
                .withNewMetadata()
                .withName("gpus")
                .withNamespace(namespace)
                .endMetadata()
                .withNewSpec()
                .addToHard("requests." + Names.RESOURCE, new Quantity("5"))
                .endSpec()
                .build())
        .create();
    create(PodSpecs.fraction("half", "0.5"));
    running("half");
    assertThatThrownBy(() -> create(PodSpecs.fraction("more", "0.1")))
        .hasMessageContaining("exceeded quota");
  }

  @Test
  void limitRange_withZeroAsDefault_boundsSharesAndLeavesOthersAlone() {
    var zero = Map.of(Names.RESOURCE, new Quantity("0"));
    tranche()
        .client()
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

  private void edit(String name, UnaryOperator<Pod> change) {
    tranche().client().pods().inNamespace(namespace).withName(name).edit(change);
  }

  private static UnaryOperator<Pod> annotation(String key, String value) {
    return pod -> pod.edit().editMetadata().addToAnnotations(key, value).endMetadata().build();
  }
}
