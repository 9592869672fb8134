package dev.tranche.e2e.install;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Map;
import java.util.Objects;

/** Pods as users write them, whose containers sleep. */
public final class PodSpecs {
  public static final String IMAGE = "tranche-e2e/busybox:1";

  private PodSpecs() {}

  /** A pod that asks for a fraction by annotation. */
  public static PodBuilder fraction(String name, String fraction) {
    return annotated(name, Map.of(Names.GPU_FRACTION, fraction));
  }

  public static PodBuilder annotated(String name, Map<String, String> annotations) {
    return pod(name).editMetadata().withAnnotations(annotations).endMetadata();
  }

  /** A pod without any of our annotations: {@code limits: {nvidia.com/gpu: N}}. */
  public static PodBuilder plain(String name, int replicas) {
    return plain(name, Names.RESOURCE, replicas);
  }

  public static PodBuilder plain(String name, String resource, int number) {
    return pod(name)
        .editSpec()
        .editFirstContainer()
        .editOrNewResources()
        .addToLimits(resource, new Quantity(Integer.toString(number)))
        .endResources()
        .endContainer()
        .endSpec();
  }

  public static PodBuilder pod(String name) {
    return new PodBuilder()
        .withNewMetadata()
        .withName(name)
        .endMetadata()
        .withNewSpec()
        .withTerminationGracePeriodSeconds(0L)
        .addToContainers(container("main"))
        .endSpec();
  }

  public static Container container(String name) {
    return new ContainerBuilder()
        .withName(name)
        .withImage(IMAGE)
        .withImagePullPolicy("IfNotPresent")
        .withCommand("sleep", "86400")
        .build();
  }

  /** The same container, asking for replicas as people without a webhook do. */
  public static Container container(String name, int replicas) {
    return new ContainerBuilder(container(name))
        .withNewResources()
        .addToLimits(Names.RESOURCE, new Quantity(Integer.toString(replicas)))
        .endResources()
        .build();
  }

  /** Returns what the first container requests of {@code nvidia.com/gpu}. */
  public static String gpus(PodSpec pod) {
    var limits = pod.getContainers().getFirst().getResources().getLimits();
    return Objects.requireNonNull(limits.get(Names.RESOURCE), Names.RESOURCE).getAmount();
  }

  /** Bound to be scheduled on one node only. */
  public static Pod on(String node, PodBuilder pod) {
    return pod.editSpec().addToNodeSelector("kubernetes.io/hostname", node).endSpec().build();
  }
}
