package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.cluster.Output;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.batch.v1.JobStatus;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pods whose manifest states what the webhook changes, under {@code plainRequests: gpus}. Tools
 * apply a manifest again and again, and nobody may change by that what a pod has.
 */
@Order(195)
class ApplyAgainE2E extends Scenario {
  private static final String VARIABLE = "NVIDIA_VISIBLE_DEVICES";
  private static final String ALL = "{name: " + VARIABLE + ", value: all}";
  private static final String ONE = "{" + Names.RESOURCE + ": 1, cpu: 50m}";

  /** In-place resize is on by default from here on. */
  private static final int RESIZE_MINOR = 33;

  @Override
  Map<String, Object> values() {
    return Map.of("plainRequests", "gpus");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "--server-side"})
  void manifestAppliedAgain_isInSync_andItsLabelsStillChange(String option) {
    apply(manifest("a", ONE), option).orFail("the first apply");
    PodSpec spec = running("a").getSpec();
    assertThat(PodSpecs.gpus(spec)).isEqualTo("10");
    assertThat(visibleDevices(get("a"), "side")).isEqualTo("void");

    apply(manifest("a", ONE), option).orFail("the second apply");
    assertThat(get("a").getSpec()).isEqualTo(spec);
    apply(manifest("a", ONE).replace("labels: {", "labels: {later: there, "), option)
        .orFail("an apply with another label");
    assertThat(get("a").getMetadata().getLabels()).containsEntry("later", "there");
    assertThat(get("a").getSpec()).isEqualTo(spec);
  }

  @Test
  void whatMayChange_changes_byEveryCommand() {
    apply(manifest("a", ONE), "").orFail("kubectl apply");
    PodSpec spec = running("a").getSpec();
    shell("label pod a by=label", "").orFail("kubectl label");
    shell("annotate pod a by=annotate", "").orFail("kubectl annotate");
    exec("KUBE_EDITOR='sed -i s/label$/edit/' k3s kubectl -n " + namespace + " edit pod a", "")
        .orFail("kubectl edit");
    // The kubelet may write the pod's status in between, which is a conflict.
    exec(
            "for try in 1 2 3 4 5; do k3s kubectl -n %1$s get pod a -o yaml | sed 's/by: annotate/by: replace/' | k3s kubectl -n %1$s replace -f - && exit; done; exit 1"
                .formatted(namespace),
            "")
        .orFail("kubectl replace");
    Pod changed = get("a");
    assertThat(changed.getMetadata().getLabels()).containsEntry("by", "edit");
    assertThat(changed.getMetadata().getAnnotations()).containsEntry("by", "replace");
    assertThat(changed.getSpec()).isEqualTo(spec);
    if (KubernetesVersion.minorOfClusters() >= RESIZE_MINOR) {
      shell(
              "patch pod a --subresource resize -p"
                  + " '{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"40m\"}}}]}}'",
              "")
          .orFail("an in-place resize");
      var requests = get("a").getSpec().getContainers().getFirst().getResources().getRequests();
      assertThat(requests)
          .containsEntry("cpu", new Quantity("40m"))
          .containsEntry(Names.RESOURCE, new Quantity("10"));
    }
    shell("replace --force -f -", manifest("a", ONE)).orFail("kubectl replace --force");
    assertThat(PodSpecs.gpus(running("a").getSpec())).isEqualTo("10");
  }

  @Test
  void share_cannotBeChanged_norItsStampRemoved_norADeviceAdded() {
    apply(manifest("a", ONE), "").orFail("kubectl apply");
    PodSpec spec = running("a").getSpec();
    Map<String, String> annotations = get("a").getMetadata().getAnnotations();
    assertRefused(
        apply(manifest("a", "{" + Names.RESOURCE + ": 2, cpu: 50m}"), ""), "may not change");
    assertRefused(
        shell(
            "patch pod a --type=json -p"
                + " '[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/limits/nvidia.com~1gpu\",\"value\":\"3\"}]'",
            ""),
        "may not change");
    for (String key : List.of(Names.REPLICAS_PER_GPU, Names.GPUS_REQUESTED, Names.GPU)) {
      assertRefused(shell("annotate pod a " + key + "-", ""), "cannot be changed");
      assertRefused(
          shell(
              "patch pod a -p '{\"metadata\":{\"annotations\":{\"%s\":null}},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}'"
                  .formatted(key),
              ""),
          "cannot be changed");
    }
    assertRefused(
        shell("annotate pod a cdi.k8s.io/late=example.com/none=all", ""),
        "cannot be added or changed");
    assertRefused(
        apply(manifest("a", ONE).replace("{name: MODE, value: a}", "{name: MODE, value: b}"), ""),
        "may not change");
    Output smuggled =
        shell(
            "patch pod a -p '{\"spec\":{\"containers\":[{\"name\":\"side\",\"env\":[{\"name\":\"%s\",\"value\":\"%s\"}]}]}}'"
                .formatted(VARIABLE, tranche().gpus(nodeOf(get("a"))).uuid(0)),
            "");
    assertThat(smuggled.out() + smuggled.err()).contains("Tranche removed it");
    assertThat(get("a").getSpec()).isEqualTo(spec);
    assertThat(get("a").getMetadata().getAnnotations())
        .containsAllEntriesOf(annotations)
        .doesNotContainKey("cdi.k8s.io/late");
    assertThat(values(get("a"), "side")).containsExactly("void");
  }

  @Test
  void withoutAWebhook_finalizersOfGpuPodsGo_andJobsEnd() {
    apply(
            manifest("a", ONE)
                .replace("metadata: {", "metadata: {finalizers: [example.com/kept], "),
            "")
        .orFail("kubectl apply");
    shell("apply -f -", job()).orFail("kubectl apply of a Job");
    running("a");
    Await.until(
        "the Job's pod to run", RUNNING_SECONDS, () -> phases().getOrDefault("Running", 0L) == 2);
    String ofJob =
        pods().stream()
            .map(pod -> pod.getMetadata().getName())
            .filter(name -> name.startsWith("job"))
            .findFirst()
            .orElseThrow();
    assertThat(PodSpecs.gpus(get(ofJob).getSpec())).isEqualTo("10");
    OutageE2E.scaleWebhook(0);
    try {
      assertRefused(apply(manifest("a", ONE), ""), "may not change");
      shell("label pod a by=label", "").orFail("kubectl label");
      shell("delete pod a --wait=false", "").orFail("kubectl delete");
      shell(
              "patch pod a --type=json -p"
                  + " '[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]'",
              "")
          .orFail("removing the finalizer");
      shell("exec " + ofJob + " -- touch /tmp/end", "").orFail("ending the Job's pod");
      Await.until(
          "the Job to end, and its pod to lose the finalizer",
          RUNNING_SECONDS,
          () ->
              Integer.valueOf(1).equals(jobStatus().getSucceeded())
                  && get(ofJob).getMetadata().getFinalizers().isEmpty(),
          () -> shell("get pods,jobs -o yaml", "").out());
      Await.until(
          "the pod to be gone",
          RUNNING_SECONDS,
          () -> pods().stream().noneMatch(pod -> pod.getMetadata().getName().equals("a")));
    } finally {
      OutageE2E.scaleWebhook(2);
    }
  }

  /** The webhook does not see kube-system, where pods must start without it. */
  @Test
  void numberInKubeSystem_countsReplicas_andAnEventSaysSo() {
    String name = "plain-" + namespace;
    var pods = client().pods().inNamespace("kube-system");
    pods.resource(PodSpecs.plain(name, 1).build()).create();
    try {
      Await.until(
          "the event",
          RUNNING_SECONDS,
          () ->
              client().v1().events().inNamespace("kube-system").list().getItems().stream()
                  .anyMatch(
                      e ->
                          e.getReason().equals("GpuNumberCountsReplicas")
                              && e.getInvolvedObject().getName().equals(name)));
    } finally {
      pods.withName(name).withGracePeriod(0).delete();
    }
  }

  private JobStatus jobStatus() {
    return client().batch().v1().jobs().inNamespace(namespace).withName("job").get().getStatus();
  }

  private static void assertRefused(Output output, String said) {
    assertThat(output.exitCode()).as(output.out()).isNotZero();
    assertThat(output.err()).contains(said);
  }

  private Output apply(String manifest, String option) {
    return shell("apply " + option + " -f -", manifest);
  }

  /** Runs kubectl on the server, whose input is the text. */
  private Output shell(String arguments, String input) {
    return exec("k3s kubectl -n " + namespace + " " + arguments, input);
  }

  private static Output exec(String command, String input) {
    String script = input.isEmpty() ? command : command + " <<'INPUT'\n" + input + "\nINPUT\n";
    return tranche().cluster().exec(tranche().cluster().nodeNames().getFirst(), "sh", "-c", script);
  }

  private static List<String> values(Pod pod, String container) {
    return pod.getSpec().getContainers().stream()
        .filter(c -> c.getName().equals(container))
        .flatMap(c -> c.getEnv().stream())
        .filter(e -> e.getName().equals(VARIABLE))
        .map(EnvVar::getValue)
        .toList();
  }

  /** States a number of GPUs, a scheduler, the nodes, and all devices for both containers. */
  private static String manifest(String name, String limits) {
    return """
    apiVersion: v1
    kind: Pod
    metadata: {name: %s, labels: {team: a}}
    spec:
      terminationGracePeriodSeconds: 0
      schedulerName: default-scheduler
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]
      containers:
        - {name: main, image: "%s", command: [sleep, "86400"], env: [{name: MODE, value: a}, %s], resources: {limits: %s}}
        - {name: side, image: "%2$s", command: [sleep, "86400"], env: [%3$s, {name: LAST, value: z}]}
    """
        .formatted(name, PodSpecs.IMAGE, ALL, limits);
  }

  private static String job() {
    return """
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec:
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 0
          containers:
            - name: main
              image: "%s"
              command: [sh, -c, "until [ -e /tmp/end ]; do sleep 0.2; done"]
              resources: {limits: {nvidia.com/gpu: 1}}
    """
        .formatted(PodSpecs.IMAGE);
  }
}
