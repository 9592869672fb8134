package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Pods that reach for GPUs which they did not ask for, with a runtime that would give them. */
@Order(25)
class GuardE2E extends Scenario {
  private static final String LABEL = "tranche.dev/guard";
  private static final String VARIABLE = "NVIDIA_VISIBLE_DEVICES";

  @Test
  void podThatSaysAll_seesNoGpu_andIsNamedInAnEvent() {
    create(leak("leak"));
    Pod pod = running("leak");
    assertThat(visibleDevices(pod, "main")).isEqualTo("void");
    assertThat(injected(pod, "main")).isEmpty();
    awaitGuardEvent("leak");
  }

  @Test
  void podThatNamesTheRuntimeClassAlone_getsTheVoid_andIsTold() {
    create(PodSpecs.pod("quiet").editSpec().withRuntimeClassName(Names.RUNTIME_CLASS).endSpec());
    Pod pod = running("quiet");
    assertThat(visibleDevices(pod, "main")).isEqualTo("void");
    assertThat(injected(pod, "main")).isEmpty();
    assertThat(events("quiet"))
        .filteredOn(e -> "GpuGuard".equals(e.getReason()))
        .singleElement()
        .satisfies(e -> assertThat(e.getMessage()).contains("requests no GPU, so it sees none"));
  }

  @Test
  void exemptNamespace_seesAll() {
    label("exempt");
    Await.until("the label to count", 60, () -> variable(dryRun("leak")).equals("all"));
    create(leak("leak"));
    assertThat(injected(running("leak"), "main")).hasSize(2);
  }

  @Test
  void denyingNamespace_refusesInASentence_andLeavesFractionsAlone() {
    label("deny");
    Await.until("the label to count", 60, this::refuses);
    assertThatThrownBy(() -> create(leak("leak")))
        .isInstanceOf(KubernetesClientException.class)
        .hasMessageContaining("container \"main\" sets a variable that opens devices")
        .hasMessageContaining("Remove it and request a share");
    create(PodSpecs.fraction("share", "0.2"));
    Pod share = running("share");
    assertThat(injected(share, "main")).containsExactlyElementsOf(assigned(share));
  }

  @Test
  void debugContainer_thatSaysAll_seesNoGpu() {
    create(PodSpecs.pod("app").editSpec().withRuntimeClassName(Names.RUNTIME_CLASS).endSpec());
    running("app");
    kubectl(
        "-n",
        namespace,
        "debug",
        "app",
        "--image=" + PodSpecs.IMAGE,
        "--image-pull-policy=IfNotPresent",
        "--container=debugger",
        "--env=" + VARIABLE + "=all",
        "--",
        "sleep",
        "86400");
    Await.until(
        "the debug container to run",
        RUNNING_SECONDS,
        () ->
            get("app").getStatus().getEphemeralContainerStatuses().stream()
                .anyMatch(c -> c.getState().getRunning() != null),
        () -> tranche().cluster().kubectl("-n", namespace, "describe", "pod", "app").out());
    assertThat(visibleDevices(get("app"), "debugger")).isEqualTo("void");
    assertThat(injected(get("app"), "debugger")).isEmpty();
    awaitGuardEvent("app");
  }

  /** NRI's plugins read annotations again when the runtime makes a sandbox anew. */
  @Test
  void deviceAnnotation_cannotBeAddedToARunningPod() {
    create(PodSpecs.pod("late").editSpec().withShareProcessNamespace(true).endSpec());
    running("late");
    assertThatThrownBy(() -> annotate("late")).hasMessageContaining("cannot be added or changed");
    String before = sandbox(get("late"));
    killSandbox(get("late"));
    Await.until(
        "a new sandbox",
        RUNNING_SECONDS,
        () -> !sandbox(get("late")).equals(before) && isReady(get("late")));
    assertThat(get("late").getMetadata().getAnnotations()).isNullOrEmpty();
  }

  private void annotate(String name) {
    client()
        .pods()
        .inNamespace(namespace)
        .withName(name)
        .edit(
            pod ->
                pod.edit()
                    .editMetadata()
                    .addToAnnotations("cdi.k8s.io/late", "example.com/none=all")
                    .endMetadata()
                    .build());
  }

  private static boolean isReady(Pod pod) {
    return pod.getStatus().getConditions().stream()
        .anyMatch(c -> c.getType().equals("Ready") && c.getStatus().equals("True"));
  }

  /** Returns the ids of the pod's sandboxes that run. */
  private static String sandbox(Pod pod) {
    String filter =
        "labels.\"io.kubernetes.pod.uid\"==%s,labels.\"io.cri-containerd.kind\"==sandbox"
            .formatted(pod.getMetadata().getUid());
    return tranche()
        .cluster()
        .exec(nodeOf(pod), "k3s", "ctr", "-n", "k8s.io", "containers", "ls", "-q", filter)
        .orFail("listing sandboxes")
        .strip();
  }

  private static void killSandbox(Pod pod) {
    for (String id : sandbox(pod).lines().toList()) {
      // An old one is dead already.
      tranche()
          .cluster()
          .exec(nodeOf(pod), "k3s", "ctr", "-n", "k8s.io", "tasks", "kill", "-s", "SIGKILL", id);
    }
  }

  @Test
  void denyingNamespace_refusesWhatReachesTheNode_andWhatTheWebhookDidNotChange() {
    label("deny");
    Await.until("the label to count", 60, this::refuses);
    Pod host =
        PodSpecs.pod("host")
            .editSpec()
            .addNewVolume()
            .withName("h")
            .withNewHostPath()
            .withPath("/srv")
            .endHostPath()
            .endVolume()
            .endSpec()
            .build();
    assertThatThrownBy(() -> create(host)).hasMessageContaining("volume \"h\" is a hostPath");
    create(PodSpecs.pod("plain"));
    assertThat(visibleDevices(running("plain"), "main")).isEqualTo("void");
  }

  private static Pod leak(String name) {
    return PodSpecs.pod(name)
        .editSpec()
        .withRuntimeClassName(Names.RUNTIME_CLASS)
        .editFirstContainer()
        .addNewEnv()
        .withName(VARIABLE)
        .withValue("all")
        .endEnv()
        .endContainer()
        .endSpec()
        .build();
  }

  private void label(String mode) {
    client()
        .namespaces()
        .withName(namespace)
        .edit(n -> n.edit().editMetadata().addToLabels(LABEL, mode).endMetadata().build());
  }

  private Pod dryRun(String name) {
    return client().pods().inNamespace(namespace).resource(leak(name)).dryRun(true).create();
  }

  private boolean refuses() {
    try {
      dryRun("leak");
      return false;
    } catch (KubernetesClientException refused) {
      return true;
    }
  }

  private static String variable(Pod pod) {
    return pod.getSpec().getContainers().getFirst().getEnv().stream()
        .filter(e -> e.getName().equals(VARIABLE))
        .map(EnvVar::getValue)
        .findFirst()
        .orElse("");
  }

  /** What the runtime would have given; a container that it has not seen is a failure. */
  private static List<String> injected(Pod pod, String container) {
    return tranche().cluster().injections(nodeOf(pod)).stream()
        .filter(i -> i.podUid().equals(pod.getMetadata().getUid()))
        .filter(i -> i.containerName().equals(container))
        .findFirst()
        .orElseThrow()
        .uuids();
  }

  private void awaitGuardEvent(String pod) {
    Await.until(
        "an event of the guard",
        60,
        () ->
            events(pod).stream()
                .anyMatch(
                    e -> "GpuGuard".equals(e.getReason()) && e.getMessage().contains(VARIABLE)),
        () -> tranche().cluster().kubectl("-n", namespace, "get", "events").out());
  }
}
