package dev.tranche.e2e.kubectl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.tranche.e2e.kubectl.FakeCluster.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What {@code kubectl tranche check} finds, and that it says what to do. */
@Tag("slow")
class KubectlCheckIT {
  private static final int OK = 0;
  private static final int PROBLEM = 3;

  private static final String INVARIANTS = "INVARIANT   BROKEN   SECONDS   MESSAGE\n";

  @TempDir private Path folder;
  private FakeCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster = healthy("dash", folder);
  }

  /** An installation of which nothing is to be said. */
  private static FakeCluster healthy(String shell, Path folder) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.put("version", "{\n  \"major\": \"1\",\n  \"gitVersion\": \"v1.37.2+k3s1\"\n}\n");
    cluster.put(
        "workloads",
        """
        Deployment|tranche-extender|extender|2|2|tranche
        Deployment|tranche-webhook|webhook|2|2|tranche
        Deployment|mine||1||
        Deployment|cert-manager-webhook|webhook|1||webhook
        DaemonSet|tranche-node-plugin|node-plugin|3|3|tranche
        """);
    cluster.put("scheduler", "registry.k8s.io/kube-scheduler:v1.37.2\n");
    cluster.put(
        "nodes",
        "a|{\"tranche.dev/replicas-per-gpu\":\"10\"}|{\"cpu\":\"8\",\"nvidia.com/gpu\":\"20\"}\n"
            + "b|{}|{}\n");
    cluster.put(
        "monitors",
        """
        kube-system|kube-proxy|kube-proxy||
        gpu-operator|nvidia-dcgm-exporter|nvidia-dcgm-exporter|nvidia|
        other|dcgm-on-a-gpu|||{"nvidia.com/gpu":"1"}
        """);
    cluster.put("monitor-admitted", "{\"kind\": \"Pod\"}");
    cluster.put(
        "admitted",
        "{\"metadata\": {\"annotations\": {\"tranche.dev/replicas-per-gpu\": \"10\"}}}");
    cluster.put("invariants", INVARIANTS + "HoldHasPod   no   30   a hold is being ended\n");
    return cluster;
  }

  @ParameterizedTest
  @MethodSource("dev.tranche.e2e.kubectl.KubectlPluginIT#shells")
  void healthyInstallation_hasNoProblem(String shell) throws Exception {
    cluster = healthy(shell, folder);
    Ended ended = cluster.run("check");
    assertThat(ended.errors()).isEmpty();
    assertThat(ended.out().lines())
        .as(ended.out())
        .allMatch(line -> line.startsWith("ok "))
        .anyMatch(line -> line.matches("ok +gpus +nodes that offer GPUs: 1"));
    assertThat(ended.status()).isEqualTo(OK);
    assertThat(cluster.calls())
        .as("check changes nothing")
        .noneMatch(call -> call.matches(".* (apply|delete|patch|label|annotate|replace|edit) .*"))
        .filteredOn(call -> call.contains(" create ") || call.startsWith("create "))
        .allMatch(call -> call.contains("--dry-run=server"));
  }

  /** File of the fake cluster, its content, the expected finding, and a part of what to do. */
  static Stream<Arguments> problems() {
    return Stream.of(
        arguments("scheduler", "r/kube-scheduler:v1.38.0\n", "v1.38.0, and the", "helm upgrade"),
        arguments("scheduler", "r/kube-scheduler:v1.35.0\n", "v1.35.0, and the", "helm upgrade"),
        arguments(
            "unready",
            "; pod w-1: \n; pod w-0: ImagePullBackOff \n",
            "Deployment tranche-webhook has 1 of 2 pods ready; pod w-0: ImagePullBackOff",
            "docs/troubleshooting.md#a-part-is-not-ready"),
        arguments("unready", "; pod w-0: \n", "1 of 2 pods ready", "describe pods"),
        arguments(
            "refused",
            "mine-5d8; other\ntranche-webhook-5d8; violates PodSecurity \"baseline:latest\"\n",
            "1 of 2 pods ready; violates PodSecurity",
            "describe pods"),
        arguments(
            "nodes",
            "a|{\"nvidia.com/gpu.present\":\"true\"}|{\"cpu\":\"8\",\"nvidia.com/gpu\":\"0\"}\n",
            "the node a has a GPU by its labels, and offers none",
            "runtimeClassName=nvidia"),
        arguments("admitted", "{\"kind\": \"Pod\"}", "is not changed by the webhook", "-n"),
        arguments(
            "monitor-admitted",
            "{\"env\": [{\"name\": \"NVIDIA_VISIBLE_DEVICES\", \"value\": \"void\"}]}",
            "the DaemonSet gpu-operator/nvidia-dcgm-exporter needs all GPUs of its nodes",
            "kubectl label namespace gpu-operator tranche.dev/guard=exempt"),
        arguments("refuse-pod", "", "is refused (dry run): Error from", "docs/errors.md"),
        arguments(
            "invariants",
            INVARIANTS + "GpuAllocatedOnce   yes   75   3/2 of GPU G are allocated\n",
            "GpuAllocatedOnce is broken for 75 s: 3/2 of GPU G are allocated",
            "support-bundle"),
        arguments("refuse-forward", "", "the extender does not answer", "describe pods"));
  }

  @Test
  void namespaceThatCannotBeRead_isSaidByKubectl() throws Exception {
    cluster.put("refuse-parts", "deployments is forbidden");
    Ended ended = cluster.run("check");
    assertThat(ended.errors())
        .startsWith("Error from server (Forbidden): deployments is forbidden\nerror: ")
        .contains("cannot read the namespace tranche; if you may not, docs/kubectl.md#rights");
    assertThat(ended.status()).isEqualTo(1);
  }

  /** Tenants may be meant to have a part of a GPU. */
  @Test
  void quotaBelowOneGpu_isANote() throws Exception {
    cluster.put(
        "nodes",
        "a|{\"tranche.dev/replicas-per-gpu\":\"10\"}|{\"nvidia.com/gpu\":\"20\"}\nb|{}|{}\n");
    cluster.put(
        "sizes", "ResourceQuota team/gpus 4\nLimitRange team/each 1\nResourceQuota b/c 10\n");
    Ended ended = cluster.run("check");
    assertThat(ended.out())
        .containsPattern("note +quotas +the ResourceQuota team/gpus allows 4 of the 10 replicas")
        .contains("if 4 were meant as GPUs, set 40", "the LimitRange team/each allows 1 of the 10")
        .doesNotContain("b/c");
    assertThat(ended.status()).isEqualTo(OK);
  }

  @Test
  void monitor_isTriedByADryRun_withItsServiceAccountAndRuntimeClass() throws Exception {
    cluster.run("check");
    assertThat(cluster.calls())
        .filteredOn(call -> call.contains("/monitor "))
        .singleElement()
        .asString()
        .contains("-n gpu-operator create --dry-run=server");
    cluster.put("refuse-monitor", "pods is forbidden");
    assertThat(cluster.run("check").out())
        .contains("whether the DaemonSet gpu-operator/nvidia-dcgm-exporter sees GPUs: Error");
  }

  /** The kubelet may have no other choice, and nothing is given twice. */
  @Test
  void podOnAnotherGpu_isANote() throws Exception {
    cluster.put(
        "invariants",
        INVARIANTS + "PodOnPromisedGpu   yes   0   pod ns/a was promised G and has H\n");
    Ended ended = cluster.run("check");
    assertThat(ended.out())
        .containsPattern("note +invariants +pod ns/a was promised G and has H \\(drift\\)")
        .contains("docs/monitoring.md#tranchedrift");
    assertThat(ended.status()).isEqualTo(OK);
  }

  @ParameterizedTest
  @MethodSource("problems")
  void problem_isSaid_withWhatToDo(String file, String content, String said, String todo)
      throws Exception {
    if (file.equals("unready") || file.equals("refused")) {
      cluster.put("workloads", "Deployment|tranche-webhook|webhook|2|1|tranche\n");
    }
    cluster.put(file, content);
    Ended ended = cluster.run("check");
    List<String> lines = ended.out().lines().toList();
    assertThat(lines)
        .as(ended.toString())
        .anyMatch(line -> line.startsWith("problem ") && line.contains(said));
    String line = lines.stream().filter(l -> l.contains(said)).findFirst().orElseThrow();
    assertThat(lines.get(lines.indexOf(line) + 1)).contains(" do: ").contains(todo);
    assertThat(ended.status()).isEqualTo(PROBLEM);
  }

  @Test
  void noGpuNodeYet_isANote() throws Exception {
    cluster.put("nodes", "a|{}|{\"cpu\":\"8\"}\n");
    Ended ended = cluster.run("check");
    assertThat(ended.out()).contains("note     gpus           no node offers GPUs by Tranche yet");
    assertThat(ended.status()).isEqualTo(OK);
  }

  @Test
  void nodeThatTrancheDoesNotServe_isNotCounted() throws Exception {
    cluster.put("nodes", "aci-1|{\"type\":\"virtual-kubelet\"}|{\"nvidia.com/gpu\":\"1\"}\n");
    Ended ended = cluster.run("check");
    assertThat(ended.out()).doesNotContain("aci-1").contains("no node offers GPUs by Tranche yet");
    assertThat(ended.status()).isEqualTo(OK);
  }

  @Test
  void nodesOfADraDriver_areNotMissed() throws Exception {
    cluster.put(
        "nodes",
        "a|{\"nvidia.com/gpu.present\":\"true\",\"tranche.dev/gpus-served-by\":\"dra\"}|{}\n");
    assertThat(cluster.run("check").out()).contains("no node offers GPUs by Tranche yet");
  }

  @Test
  void whatMayNotBeRead_isUnknown_andTheRestIsChecked() throws Exception {
    cluster.remove("nodes");
    Ended ended = cluster.run("check");
    assertThat(ended.out())
        .contains("unknown  gpus           Error from server (Forbidden): nodes is forbidden")
        .contains("do: get the rights of docs/kubectl.md")
        .contains("ok       invariants");
    assertThat(ended.status()).isEqualTo(OK);
  }

  @Test
  void otherNamespace_isNamed() throws Exception {
    cluster.put("workloads", "");
    assertThat(cluster.run("check", "--tranche-namespace", "gpu").out())
        .contains("nothing of Tranche is installed in the namespace gpu")
        .contains("--tranche-namespace");
    assertThat(cluster.run("check", "pods").errors()).contains("one argument too many");
  }

  /** Each finding has two texts: what is found, and what to do. */
  @Test
  void everyFinding_saysWhatToDo() throws Exception {
    String script =
        Files.readString(FakeCluster.PLUGIN.resolve("kubectl-tranche")).replace("\\\n", " ");
    List<String> findings =
        Pattern.compile("\\bfound (?:note|problem|unknown) .*")
            .matcher(script)
            .results()
            .map(MatchResult::group)
            .toList();
    String text = "\"(?:\\$\\([^)]*\\)|\\\\.|[^\"\\\\])+\"";
    assertThat(findings)
        .hasSizeGreaterThan(12)
        .allMatch(finding -> finding.matches("found \\w+ +%1$s +%1$s(?: ;;)?".formatted(text)));
  }
}
