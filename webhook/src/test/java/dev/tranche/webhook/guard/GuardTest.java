package dev.tranche.webhook.guard;

import static dev.tranche.webhook.Reviews.json;
import static dev.tranche.webhook.guard.Pods.ONE_GPU;
import static dev.tranche.webhook.guard.Pods.created;
import static dev.tranche.webhook.guard.Pods.mounting;
import static dev.tranche.webhook.guard.Pods.patch;
import static dev.tranche.webhook.guard.Pods.pod;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.Heap;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.FindingOutcome.Outcome;
import dev.tranche.webhook.pod.PodView;
import io.fabric8.zjsonpatch.JsonPatch;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GuardTest {
  private static final String ALL = "{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}";
  private static final String VOID = "{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}";

  private final Guard guard =
      new Guard(
          new GuardRules(
              GuardMode.VOID,
              true,
              Set.of("monitoring:dcgm-exporter"),
              List.of("example.com/shared"),
              "/var/lib/k0s/kubelet",
              List.of()),
          node ->
              switch (node) {
                case "gpu-1" -> Set.of("cpu", "nvidia.com/gpu");
                case "cpu-1" -> Set.of("cpu");
                default -> Set.of();
              });

  /** The other halves of the file are GuardPolicyTest's and GuardPolicyE2E's. */
  @ParameterizedTest
  @CsvFileSource(resources = "/guard-cases.txt", delimiter = '|', quoteCharacter = '`')
  void pod_isJudgedAsTheFileSays(String fields, String mode, String decides, String expected) {
    JsonNode pod = json("{" + fields + "}");
    var guardMode = GuardMode.valueOf(mode.toUpperCase(Locale.ROOT));
    List<String> found = found(pod, guardMode);
    JsonNode patch = patch(admitted(pod, guardMode));
    switch (decides) {
      case "webhook" ->
          assertThat(found.isEmpty() ? "the void is added" : String.join(", ", found))
              .isEqualTo(expected);
      case "policy" ->
          assertThat(
                  found.isEmpty() && patch.findValuesAsText("op").stream().allMatch("add"::equals))
              .as("it hides nothing from the policy")
              .isTrue();
      default -> assertThat(found.isEmpty() && patch.isEmpty()).isTrue();
    }
  }

  @Test
  void containersWithoutARequest_getTheVoid_initAndSidecarsToo() {
    JsonNode pod =
        pod(
            "'initContainers':[{'name':'i','restartPolicy':'Always'}],"
                + "'containers':[{'name':'a','env':[{'name':'X','value':'y'}]},{'name':'b',"
                + ONE_GPU
                + "}]");
    JsonNode after = after(pod);
    assertThat(after.at("/spec/initContainers/0/env")).isEqualTo(json("[" + VOID + "]"));
    assertThat(after.at("/spec/containers/0/env/1")).isEqualTo(json(VOID));
    assertThat(after.at("/spec/containers/1").has("env")).isFalse();
    assertThat(found(pod, GuardMode.VOID)).isEmpty();
    assertThat(patch(admitted(after, GuardMode.VOID))).isEmpty();
  }

  /** Mode audit bounds no pod, so what each container costs is what a pod can cost. */
  @Test
  void containersThatSetNothing_costLittleMemory() {
    int containers = 10_000;
    JsonNode pod = pod("'containers':[" + "{},".repeat(containers - 1) + "{}]");
    GuardedPod large = created(pod);
    guard.judge(large, GuardMode.AUDIT);
    long before = Heap.allocatedBytes();
    guard.judge(large, GuardMode.AUDIT);
    assertThat((Heap.allocatedBytes() - before) / containers).isLessThan(500);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'requests':{'nvidia.com/gpu.shared':2}",
        "'limits':{'nvidia.com/mig-1g.5gb':'1'}",
        "'limits':{'example.com/shared':'10'}"
      })
  void requestsForGpus_areKnown(String resources) {
    assertThat(patch(admitted(container("'resources':{" + resources + "}"), GuardMode.VOID)))
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'limits':{'nvidia.com/gpu':'0'}",
        "'limits':{'nvidia.com/gpu':'0e9'}",
        "'limits':{'nvidia.com/hostdev':'1'}",
        "'limits':{'nvidia.com/gpu-x':'1'}",
        "'claims':[{'name':'nic'}]",
        "'claims':[{'name':'gpu','request':'one'}]",
        "'limits':{'deviceclass.resource.kubernetes.io/gpu.nvidia.com':'1'}"
      })
  void requestsThatOpenNoGpu_doNotEscapeTheVoid(String resources) {
    JsonNode after = after(container("'resources':{" + resources + "}"));
    assertThat(after.at("/spec/containers/0/env/0")).isEqualTo(json(VOID));
  }

  @ParameterizedTest
  @CsvSource({
    "gpu-1,nvidia.com/gpu,true",
    "gpu-1,nvidia.com/mig-1g.5gb,false",
    "cpu-1,nvidia.com/gpu,false",
    "unknown,nvidia.com/gpu,true"
  })
  void requestPastTheScheduler_countsWhereTheNodeHasIt(
      String node, String resource, boolean counts) {
    JsonNode pod =
        pod(
            "'nodeName':'%s','containers':[{'name':'main','resources':{'limits':{'%s':'1'}}}]"
                .formatted(node, resource));
    assertThat(patch(admitted(pod, GuardMode.VOID)).isEmpty()).isEqualTo(counts);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "'value':'all'|ENV",
        "'value':'GPU-1,GPU-2'|ENV",
        "'value':'$(OTHER)'|ENV",
        "'valueFrom':{'secretKeyRef':{'name':'s','key':'k'}}|ENV_VALUE_FROM"
      })
  void variable_isVoidedWithoutARequest_andTakenAwayWithOne(String value, GuardFinding finding) {
    String env =
        "'env':[{'name':'A','value':'1'},{'name':'NVIDIA_VISIBLE_DEVICES',"
            + value
            + "},{'name':'B','value':'2'}]";
    JsonNode without = container(env);
    assertThat(found(without, GuardMode.VOID)).containsExactly(finding + "=voided");
    assertThat(after(without).at("/spec/containers/0/env").size()).isEqualTo(3);
    assertThat(after(without).at("/spec/containers/0/env/2")).isEqualTo(json(VOID));

    JsonNode with = container(env + "," + ONE_GPU);
    assertThat(found(with, GuardMode.VOID)).containsExactly(finding + "=voided");
    assertThat(after(with).at("/spec/containers/0/env"))
        .isEqualTo(json("[{'name':'A','value':'1'},{'name':'B','value':'2'}]"));

    assertThat(found(with, GuardMode.AUDIT)).containsExactly(finding + "=audited");
    assertThat(patch(admitted(with, GuardMode.AUDIT))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "NVIDIA_IMEX_CHANNELS",
        "NVIDIA_NVSWITCH",
        "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES"
      })
  void otherVariablesThatOpenDevices_areTakenAway(String name) {
    String env = "'env':[{'name':'A','value':'1'},{'name':'" + name + "','value':'all'}]";
    JsonNode with = container(env + "," + ONE_GPU);
    assertThat(found(with, GuardMode.VOID)).containsExactly("env=voided");
    assertThat(after(with).at("/spec/containers/0/env"))
        .isEqualTo(json("[{'name':'A','value':'1'}]"));
    JsonNode without = container(env);
    assertThat(after(without).at("/spec/containers/0/env"))
        .isEqualTo(json("[{'name':'A','value':'1'}," + VOID + "]"));
    JsonNode harmless = container("'env':[{'name':'" + name + "','value':''}]");
    assertThat(found(harmless, GuardMode.VOID)).isEmpty();
    assertThat(after(harmless).at("/spec/containers/0/env/1")).isEqualTo(json(VOID));
  }

  @ParameterizedTest
  @CsvSource({
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE,CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "NVIDIA_GPU_MEMORY_LIMIT,NVIDIA_GPU_MEMORY_REQUEST"
  })
  void limitsThatAPodSetsItself_areTakenAway_whereItHasAGpu(String first, String second) {
    String env =
        "'env':[{'name':'%s','value':'100'},{'name':'A','value':'1'},{'name':'%s','valueFrom':{'fieldRef':{}}}]"
            .formatted(first, second);
    JsonNode with = container(env + "," + ONE_GPU);
    assertThat(found(with, GuardMode.VOID))
        .containsExactly("share_limit=voided", "share_limit=voided");
    assertThat(after(with).at("/spec/containers/0/env"))
        .isEqualTo(json("[{'name':'A','value':'1'}]"));
    assertThat(patch(admitted(with, GuardMode.AUDIT))).isEmpty();
    JsonNode without = container(env);
    assertThat(found(without, GuardMode.VOID)).isEmpty();
    assertThat(after(without).at("/spec/containers/0/env")).hasSize(4);
  }

  @ParameterizedTest
  @CsvSource({"securityContext", "volumeMounts", "env"})
  void debugContainer_cannotReachFurther(String way) {
    String fields =
        switch (way) {
          case "env" -> "'env':[" + ALL + "]";
          case "volumeMounts" ->
              "'volumeMounts':[{'name':'v','mountPath':'/var/run/nvidia-container-devices/all'}]";
          default -> "'securityContext':{'privileged':true}";
        };
    JsonNode before = pod("'containers':[{'name':'main'}]");
    JsonNode pod =
        pod("'containers':[{'name':'main'}],'ephemeralContainers':[{'name':'d'," + fields + "}]");
    var verdict = guard.judge(new GuardedPod("team", new PodView(pod), before), GuardMode.VOID);

    assertThat(verdict.found()).hasSize(1);
  }

  @Test
  void initContainers_areJudgedOneByOne() {
    JsonNode pod =
        pod(
            "'initContainers':[{'name':'i','env':[%s]},{'name':'j','env':[%s],%s}],'containers':[{'name':'main',%s}]"
                .formatted(ALL, ALL, ONE_GPU, ONE_GPU));
    assertThat(found(pod, GuardMode.VOID)).containsExactly("env=voided", "env=voided");
    assertThat(after(pod).at("/spec/initContainers/0/env")).isEqualTo(json("[" + VOID + "]"));
    assertThat(after(pod).at("/spec/initContainers/1/env")).isEmpty();
  }

  @Test
  void lastOfSeveralVariables_cannotSlipPast() {
    JsonNode after = after(container("'env':[" + VOID + "," + ALL + "]"));
    assertThat(after.at("/spec/containers/0/env")).isEqualTo(json("[" + VOID + "]"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "void", "none"})
  void valuesThatOpenNothing_areLeftAlone(String value) {
    JsonNode pod = container("'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'" + value + "'}]");
    for (GuardMode mode : GuardMode.values()) {
      assertThat(patch(admitted(pod, mode))).isEmpty();
      assertThat(found(pod, mode)).isEmpty();
    }
  }

  @Test
  void ourVoid_goesAgain_onceAnotherWebhookHasAddedARequest() {
    JsonNode pod = container("'env':[" + VOID + "]," + ONE_GPU);
    assertThat(after(pod).at("/spec/containers/0/env")).isEmpty();
    assertThat(found(pod, GuardMode.DENY)).isEmpty();
  }

  @Test
  void envFrom_isOverruledWithoutARequest_andOnlyToldOfWithOne() {
    String from = "'envFrom':[{'configMapRef':{'name':'c'}}]";
    assertThat(found(container(from), GuardMode.VOID)).isEmpty();
    assertThat(after(container(from)).at("/spec/containers/0/env/0")).isEqualTo(json(VOID));
    assertThat(found(container(from), GuardMode.AUDIT)).containsExactly("env_from=audited");
    JsonNode with = container(from + "," + ONE_GPU);
    assertThat(found(with, GuardMode.VOID)).containsExactly("env_from=audited");
    assertThat(admitted(with, GuardMode.VOID).mutation().warnings())
        .containsExactly(
            "container \"main\" gets variables from envFrom, and NVIDIA_VISIBLE_DEVICES or"
                + " CUDA_MPS_ACTIVE_THREAD_PERCENTAGE or CUDA_MPS_PINNED_DEVICE_MEM_LIMIT or"
                + " NVIDIA_GPU_MEMORY_LIMIT or NVIDIA_GPU_MEMORY_REQUEST may be one; it is"
                + " recorded.");
    assertThat(admitted(container(from), GuardMode.AUDIT).mutation().warnings()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "APP_,false",
    "NVIDIA_,true",
    "NVIDIA_VISIBLE_DEVICES_,false",
    "CUDA_MPS_P,true",
    "CUDA_MPS_PIPE,false"
  })
  void envFromWithAPrefix_countsWhereThePrefixBeginsTheVariable(String prefix, boolean counts) {
    JsonNode pod =
        container(
            "'envFrom':[{'prefix':'%s','secretRef':{'name':'c'}}],".formatted(prefix) + ONE_GPU);
    assertThat(!found(pod, GuardMode.VOID).isEmpty()).isEqualTo(counts);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/var/run/nvidia-container-devices/all",
        "/run/nvidia-container-devices/cdi/nvidia.com/gpu/0",
        "/var//run/./x/../nvidia-container-devices"
      })
  void mountsThatNameGpus_areTakenAway(String path) {
    JsonNode pod =
        container(
            "'volumeMounts':[{'name':'d','mountPath':'%s'},{'name':'e','mountPath':'/e'}],"
                    .formatted(path)
                + ONE_GPU);
    assertThat(found(pod, GuardMode.VOID)).containsExactly("device_list_mount=voided");
    assertThat(after(pod).at("/spec/containers/0/volumeMounts"))
        .isEqualTo(json("[{'name':'e','mountPath':'/e'}]"));
  }

  @ParameterizedTest
  @CsvSource({
    "/,host_devices",
    "/dev/,host_devices",
    "/dev/nvidia0,host_devices",
    "/dev/nvidia-caps/x,host_devices",
    "/var/lib/k0s/kubelet/device-plugins,kubelet_sockets",
    "/var/lib/k0s/kubelet,kubelet_sockets",
    "/var/lib/kubelet/device-plugins/kubelet.sock,kubelet_sockets",
    "/var/lib,kubelet_sockets",
    "/run/nvidia/driver,host_devices",
    "/var/run/nvidia,host_devices",
    "/var/run/docker.sock,runtime_socket",
    "/var/run/docker/containerd,runtime_socket",
    "/proc/1/root,host_devices",
    "/proc/1,host_processes",
    "/proc/self/task/7,host_processes",
    "/var/lib/k0s/kubelet/plugins_registry/x.sock,kubelet_sockets",
    "/var/run/nri/nri.sock,runtime_socket",
    "/opt/nri,runtime_config",
    "/etc/nri/conf.d/x,runtime_config",
    "/etc/containerd/config.toml,runtime_config",
    "/run/containerd/s/0,runtime_socket",
    "/run/containerd/containerd.sock.ttrpc,runtime_socket",
    "/run/podman,runtime_socket",
    "/var/run/nvidia/mps/nvidia.com/gpu/pipe,mps_control",
    "/dev/vfio/1,host_devices",
    "/proc/1/root/dev/nvidia0,host_devices",
    "/proc/self/cwd/dev,host_devices",
    "/proc/1/task/1/root/proc/self/root/var/run/docker.sock,runtime_socket",
    "/proc//1/./root/etc/cdi,cdi_specs",
    "/var/run/crio,runtime_socket",
    "/run/k3s,runtime_socket",
    "/etc/cdi/x.yaml,cdi_specs",
    "/var/run/cdi,cdi_specs"
  })
  void hostPaths_areToldOf_sinceNoPatchClosesThem(String path, String finding) {
    assertThat(found(mounting(path), GuardMode.VOID)).containsExactly(finding + "=audited");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/dev/shm",
        "/dev/null",
        "/device",
        "/var/log",
        "/var/lib/kubelet/pods",
        "/var/runner",
        "/run/containerd-x",
        "/run/nvidia/mpsx",
        "/etc/ssl",
        "/proc/sys",
        "/proc/1/rooted",
        "/proc/1/root/etc/ssl",
        "/srv/proc/1/root/dev"
      })
  void otherHostPaths_areNoFinding(String path) {
    assertThat(found(mounting(path), GuardMode.VOID)).isEmpty();
  }

  @Test
  void privileged_isToldOf_andStillGetsTheVoid() {
    JsonNode pod = container("'securityContext':{'privileged':true}");
    assertThat(found(pod, GuardMode.VOID)).containsExactly("privileged=audited");
    assertThat(after(pod).at("/spec/containers/0/env/0")).isEqualTo(json(VOID));
    assertThat(admitted(pod, GuardMode.VOID).mutation().warnings())
        .containsExactly(
            "container \"main\" is privileged, so it can access every GPU of its node; it is"
                + " recorded.");
  }

  @Test
  void exemptServiceAccount_isLeftAlone_ofItsNamespaceOnly() {
    JsonNode pod =
        pod("'serviceAccountName':'dcgm-exporter','containers':[{'name':'m','env':[" + ALL + "]}]");
    assertThat(guard.judge(Reviews.created("monitoring", pod), GuardMode.VOID))
        .isEqualTo(Verdict.UNCHANGED);
    assertThat(found(pod, GuardMode.VOID)).containsExactly("env=voided");
  }

  @Test
  void withoutADefaultRuntime_onlyPodsThatNameOneAreServed() {
    var careful = new Guard(Reviews.guardRules(GuardMode.VOID, false), node -> Set.of());
    JsonNode plain = container("'env':[" + ALL + "]");
    assertThat(patch(careful.judge(created(plain), GuardMode.VOID))).isEmpty();
    assertThat(Pods.found(careful, container("'envFrom':[{}]"), GuardMode.AUDIT)).isEmpty();
    JsonNode named = pod("'runtimeClassName':'nvidia','containers':[{'name':'main'}]");
    assertThat(patch(careful.judge(created(named), GuardMode.VOID))).hasSize(1);
  }

  /** A monitor names all GPUs in its image, and loses them without another word. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'runtimeClassName':'nvidia','containers':[{'name':'exporter'}] | true",
        "'runtimeClassName':'nvidia-cdi','initContainers':[{'name':'check'}],'containers':[{'name':'m'}]"
            + " | true",
        "'runtimeClassName':'nvidia','containers':[{'name':'m','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]}]"
            + " | true",
        "'runtimeClassName':'nvidia','containers':[{'name':'m'},{'name':'gpu','resources':{'limits':{'nvidia.com/gpu':'1'}}}]"
            + " | false",
        "'runtimeClassName':'nvidia','resourceClaims':[{'name':'gpu'}],'containers':[{'name':'m'}]"
            + " | false",
        "'runtimeClassName':'gvisor','containers':[{'name':'m'}] | false",
        "'containers':[{'name':'m'}] | false",
      })
  void podOfNvidiasRuntimeWithoutAGpu_isReported(String spec, boolean reported) {
    for (GuardMode mode : List.of(GuardMode.VOID, GuardMode.DENY)) {
      Verdict verdict = guard.judge(created(pod(spec)), mode);
      assertThat(verdict.found())
          .extracting(found -> found.finding() + "=" + found.outcome())
          .isEqualTo(reported ? List.of("runtime_class=voided") : List.of());
      if (reported) {
        assertThat(verdict.mutation().warnings().getFirst())
            .contains("\"nvidia", "sees none", "tranche.dev/guard: exempt");
      }
    }
    assertThat(Pods.found(guard, pod(spec), GuardMode.AUDIT)).as("it keeps them").isEmpty();
  }

  @Test
  void podOfNvidiasRuntime_thatNamesGpusItself_isReportedOnce() {
    String spec = "'runtimeClassName':'nvidia','containers':[{'name':'m','env':[" + ALL + "]}]";
    assertThat(Pods.found(guard, pod(spec), GuardMode.VOID)).containsExactly("env=voided");
  }

  /** The kubelet gives them to the container, and CUDA reads them. */
  @Test
  void limitsOfMps_areTakenAway_whateverTheRuntime() {
    var careful = new Guard(Reviews.guardRules(GuardMode.VOID, false), node -> Set.of());
    JsonNode pod =
        container(
            "'env':[{'name':'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT','value':'0=80G'},"
                + ALL
                + "],'envFrom':[{'configMapRef':{'name':'c'}}],"
                + ONE_GPU);
    assertThat(Pods.found(careful, pod, GuardMode.VOID))
        .containsExactly("share_limit=voided", "env_from=audited");
    var verdict = careful.judge(created(pod), GuardMode.VOID);
    assertThat(JsonPatch.apply(patch(verdict), pod).at("/spec/containers/0/env"))
        .as("the other variable says nothing to other runtimes")
        .isEqualTo(json("[" + ALL + "]"));
  }

  @Test
  void debugContainer_isVoided_andThoseBeforeItAreLeftAlone() {
    String containers = "'containers':[{'name':'main','env':[" + ALL + "]}]";
    JsonNode before = pod(containers + ",'ephemeralContainers':[{'name':'old'}]");
    JsonNode pod =
        pod(
            containers
                + ",'ephemeralContainers':[{'name':'old'},{'name':'new','env':["
                + ALL
                + "]}]");
    var verdict = guard.judge(new GuardedPod("team", new PodView(pod), before), GuardMode.VOID);

    assertThat(JsonPatch.apply(patch(verdict), pod))
        .isEqualTo(
            pod(
                containers
                    + ",'ephemeralContainers':[{'name':'old'},{'name':'new','env':["
                    + VOID
                    + "]}]"));
    assertThat(verdict.found()).extracting(FindingOutcome::outcome).containsExactly(Outcome.VOIDED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{}", "{'spec':{'containers':[{}]}}", "{'spec':{'containers':[{'env':null}]}}"})
  void barePods_areJudged(String pod) {
    for (GuardMode mode : GuardMode.values()) {
      assertThat(found(json(pod), mode)).isEmpty();
    }
  }

  @Test
  void pathsThatNoSystemTakes_doNotMakeItFail() {
    assertThat(found(container("'volumeMounts':[{'mountPath':'/a\\u0000'}]"), GuardMode.VOID))
        .isEmpty();
    assertThat(found(mounting("/proc/1/root".repeat(20_000) + "/dev/nvidia0"), GuardMode.VOID))
        .containsExactly("host_devices=audited");
  }

  private Verdict admitted(JsonNode pod, GuardMode mode) {
    return guard.judge(created(pod), mode);
  }

  private List<String> found(JsonNode pod, GuardMode mode) {
    return Pods.found(guard, pod, mode);
  }

  private JsonNode after(JsonNode pod) {
    return JsonPatch.apply(patch(admitted(pod, GuardMode.VOID)), pod);
  }

  private static JsonNode container(String fields) {
    return pod("'containers':[{'name':'main'," + fields + "}]");
  }
}
