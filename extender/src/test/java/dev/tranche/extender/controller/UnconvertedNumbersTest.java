package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.Kinds;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.WatchedPod;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UnconvertedNumbersTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final Controller unconverted = numbers(Set.of("kube-system", "tranche"));

  private Controller numbers(Set<String> namespaces) {
    return PodRules.unconverted(namespaces, Names.RESOURCE, events);
  }

  @Test
  void numberInKubeSystem_isToldOnce_andCountedWhileThePodIsThere() {
    WatchedPod pod = shown(plain("kube-system", Names.RESOURCE, "1"));
    unconverted.podSeen(pod);
    events.tick();
    unconverted.podSeen(pod);
    events.tick();
    assertThat(created)
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getReason()).isEqualTo("GpuNumberCountsReplicas");
              assertThat(event.getInvolvedObject().getNamespace()).isEqualTo("kube-system");
              assertThat(event.getMessage())
                  .contains("nvidia.com/gpu counts replicas", "namespace kube-system");
            });
    assertThat(pods()).isEqualTo(1);
    unconverted.podGone("uid");
    assertThat(pods()).isZero();
  }

  @Test
  void podThatStatesItsReplicas_orIsConverted_orEnds_isLeftAlone() {
    assertThat(
            isTold(
                plain("kube-system", Names.RESOURCE, "10")
                    .editMetadata()
                    .addToAnnotations(Names.REPLICAS_PER_GPU, "10")
                    .endMetadata()))
        .isFalse();
    assertThat(isTold(plain("team-a", Names.RESOURCE, "1"))).isFalse();
    assertThat(isTold(plain("kube-system", "nvidia.com/mig-1g.5gb", "1"))).isFalse();
    assertThat(isTold(plain("kube-system", "cpu", "1"))).isFalse();
    assertThat(isTold(plain("kube-system", Names.RESOURCE, "0"))).isFalse();
    assertThat(
            isTold(
                plain("kube-system", Names.RESOURCE, "1")
                    .withNewStatus()
                    .withPhase("Succeeded")
                    .endStatus()))
        .isFalse();
    assertThat(isTold(plain("tranche", Names.RESOURCE, "1"))).isTrue();
  }

  @Test
  void withoutNamespaces_nothingIsWritten() {
    Controller none = numbers(Set.of());
    none.podSeen(shown(plain("kube-system", Names.RESOURCE, "1")));
    events.tick();
    assertThat(created).isEmpty();
  }

  /** Forgotten again at once. */
  private boolean isTold(PodBuilder pod) {
    int before = created.size();
    unconverted.podSeen(shown(pod));
    events.tick();
    unconverted.podGone("uid");
    return created.size() > before;
  }

  private double pods() {
    return rig.mistaken(PodMistake.UNCONVERTED);
  }

  private static WatchedPod shown(PodBuilder pod) {
    var kind = PodReader.kind(List.of(Names.RESOURCE, "nvidia.com/mig-1g.5gb"), false);
    return Kinds.read(kind, pod.build());
  }

  private static PodBuilder plain(String namespace, String resource, String number) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace(namespace)
        .withName("p")
        .withUid("uid")
        .endMetadata()
        .withNewSpec()
        .addNewContainer()
        .withName("main")
        .withNewResources()
        .addToLimits(resource, new Quantity(number))
        .endResources()
        .endContainer()
        .endSpec();
  }
}
