package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.Kinds;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.WatchedPod;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class UnmutatedPodsTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final Controller unshared = PodRules.unshared("tranche-scheduler", events);

  private static PodBuilder asking(String name) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("team-a")
        .withName(name)
        .withUid("uid-" + name)
        .addToAnnotations(Names.GPU_FRACTION, "0.3")
        .endMetadata()
        .withNewSpec()
        .withSchedulerName("default-scheduler")
        .addNewContainer()
        .withName("main")
        .endContainer()
        .endSpec();
  }

  private static WatchedPod shown(Pod pod) {
    return Kinds.read(PodReader.kind(List.of(Names.RESOURCE), false), pod);
  }

  /** Whether it is told; forgotten again at once. */
  private boolean lacks(Pod pod) {
    unshared.podSeen(shown(pod));
    boolean lacks = pods() == 1;
    unshared.podGone(pod.getMetadata().getUid());
    return lacks;
  }

  private static Pod requesting(PodBuilder pod) {
    return pod.editSpec()
        .editFirstContainer()
        .withNewResources()
        .addToLimits(Names.RESOURCE, new Quantity("3"))
        .endResources()
        .endContainer()
        .endSpec()
        .build();
  }

  @Test
  void podWithoutItsShare_isToldOnce_andCountedWhileItIsThere() throws IOException {
    unshared.podSeen(shown(asking("a").build()));
    unshared.podSeen(shown(asking("a").build()));
    events.tick();
    events.tick();
    assertThat(created).hasSize(1);
    Event event = created.getFirst();
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("uid-a");
    assertThat(event.getMetadata().getNamespace()).isEqualTo("team-a");
    assertThat(event.getReason()).isEqualTo("GpuShareMissing");
    assertThat(event.getMessage()).contains("(tranche.dev/gpu-fraction)", "rollout restart");
    assertThat(Files.readString(Path.of("../docs/errors.md"))).contains("`GpuShareMissing`");
    assertThat(pods()).isEqualTo(1);
    unshared.podGone("uid-a");
    assertThat(pods()).isZero();
  }

  @Test
  void requestWithoutTheWebhooksStamp_isNoShare() {
    assertThat(lacks(requesting(asking("a")))).isTrue();
    Pod stampOnly =
        asking("b")
            .editMetadata()
            .addToAnnotations(Names.REPLICAS_PER_GPU, "10")
            .endMetadata()
            .build();
    assertThat(lacks(stampOnly)).isTrue();
    assertThat(lacks(requesting(new PodBuilder(stampOnly)))).isFalse();
  }

  @Test
  void othersPods_andThoseThatEnd_areLeftAlone() {
    Pod kai = asking("a").editSpec().withSchedulerName("kai-scheduler").endSpec().build();
    assertThat(lacks(kai)).isFalse();
    Pod ours = asking("a").editSpec().withSchedulerName("tranche-scheduler").endSpec().build();
    assertThat(lacks(ours)).isTrue();
    assertThat(lacks(requesting(new PodBuilder(kai)))).isFalse();
    Pod ended = asking("a").withNewStatus().withPhase("Failed").endStatus().build();
    assertThat(lacks(ended)).isFalse();
    Pod leaving = asking("a").editMetadata().withDeletionTimestamp("x").endMetadata().build();
    assertThat(lacks(leaving)).isFalse();
    Pod plain = asking("a").editMetadata().withAnnotations(null).endMetadata().build();
    assertThat(lacks(plain)).isFalse();
    unshared.podSeen(shown(asking("b").build()));
    unshared.podSeen(
        shown(new PodBuilder(ended).editMetadata().withUid("uid-b").endMetadata().build()));
    events.tick();
    assertThat(created).isEmpty();
    assertThat(pods()).isZero();
  }

  @Test
  void podsPastTheBound_areDropped_andToldWhenTheyChange() {
    for (int i = 0; i <= MistakeEvents.KNOWN_MAX; i++) {
      unshared.podSeen(shown(asking("p" + i).build()));
    }
    events.tick();
    assertThat(created).hasSize(MistakeEvents.PER_TICK_MAX);
    unshared.podGone("uid-p0");
    unshared.podSeen(shown(asking("p" + MistakeEvents.KNOWN_MAX).build()));
    assertThat(pods()).isEqualTo(MistakeEvents.KNOWN_MAX);
  }

  @Test
  void allPodsOfALargeFirstList_areTold() {
    int pods = 2_000;
    for (int i = 0; i < pods; i++) {
      unshared.podSeen(shown(asking("p" + i).build()));
    }
    for (int i = 0; i < pods / MistakeEvents.PER_TICK_MAX; i++) {
      events.tick();
    }
    assertThat(created).hasSize(pods);
  }

  @Test
  @Tag("slow")
  void whoDoesNotDecide_keepsNothingOfPodsThatAreGone() {
    rig.deciding = false;
    for (int i = 0; i < 2 * MistakeEvents.KNOWN_MAX; i++) {
      unshared.podSeen(shown(asking("p" + i).build()));
      unshared.podGone("uid-p" + i);
    }
    unshared.podSeen(shown(asking("last").build()));
    rig.deciding = true;
    events.tick();
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getName())
        .containsExactly("last");
  }

  @Test
  void podThatIsGoneWhileItsEventFails_isNotTriedAgain() {
    var writing = Promise.<Void>promise();
    rig.answer = writing.future();
    unshared.podSeen(shown(asking("a").build()));
    events.tick();
    unshared.podGone("uid-a");
    writing.fail(new KubernetesClientException("busy", 500, null));
    events.tick();
    assertThat(created).hasSize(1);
  }

  @Test
  void eventThatFails_isTriedAgain_butNotWhatIsWrittenOrRefused() {
    rig.answer = Future.failedFuture(new KubernetesClientException("busy", 500, null));
    unshared.podSeen(shown(asking("a").build()));
    events.tick();
    int tries = created.size();
    rig.answer = Future.failedFuture(new KubernetesClientException("there", 409, null));
    events.tick();
    assertThat(created).hasSize(tries + 1);
    events.tick();
    assertThat(created).hasSize(tries + 1);
    rig.answer = Future.failedFuture(new KubernetesClientException("no", 403, null));
    unshared.podSeen(shown(asking("b").build()));
    events.tick();
    events.tick();
    assertThat(created).hasSize(tries + 2);
  }

  @Test
  void whoDoesNotDecide_writesNothing_butRemembers() {
    rig.deciding = false;
    unshared.podSeen(shown(asking("a").build()));
    events.tick();
    assertThat(created).isEmpty();
    rig.deciding = true;
    events.tick();
    assertThat(created).hasSize(1);
  }

  private double pods() {
    return rig.mistaken(PodMistake.UNSHARED);
  }
}
