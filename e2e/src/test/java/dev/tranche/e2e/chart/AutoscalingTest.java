package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.render;
import static dev.tranche.e2e.chart.Chart.values;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Toleration;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the chart tells autoscalers follows from the config that their nodes will have. */
class AutoscalingTest {
  private static final String ONE = "g5.xlarge";
  private static final String FOUR = "g5.12xlarge";
  private static final String COARSE = "config.map.coarse=version: v1";
  private static final String FINE = "config.map.fine=" + shared(20);
  private static final String EXTENDED = "config.nvidiaCompatible=extended";
  private static final Map<String, Object> KARPENTER =
      values(
          "autoscaling.karpenter.enabled=true",
          "autoscaling.karpenter.nodeClass.clusterName=mine",
          "autoscaling.instanceTypes.g5\\.xlarge=1",
          "autoscaling.instanceTypes.g5\\.12xlarge=4");

  @Test
  void nothingIsTold_unlessAsked() {
    assertThat(render()).doesNotContain("karpenter", "node-templates");
  }

  @Test
  void nodeOverlay_offersGpusTimesReplicas_ofThisPoolOnly() {
    String rendered = karpenter("replicas=4");
    assertThat(capacity(rendered, FOUR)).isEqualTo(Map.of("nvidia.com/gpu", "16"));
    assertThat(capacity(rendered, ONE)).isEqualTo(Map.of("nvidia.com/gpu", "4"));
    assertThat(rendered)
        .contains("{key: karpenter.sh/nodepool, operator: In, values: [gpu]}")
        .contains("nvidia.com/gpu.replicas: \"4\"", "nvidia.com/gpu.sharing-strategy: time-slicing")
        .contains(
            "tranche.dev/replicas-per-gpu: \"4\"", "tranche.dev/sharing-strategy: time-slicing")
        .contains("{key: " + Names.STARTUP_TAINT + ", effect: NoSchedule}");
  }

  /** An autoscaler knows the instance type's own number of nvidia.com/gpu. */
  @Test
  void renamedReplicas_leaveNothingUnderTheOldName_butWholeGpus() {
    String config =
        timeSliced(
            "name: nvidia.com/gpu, rename: nvidia.com/gpu.tenth, devices: [0, 1], replicas: 10",
            "name: nvidia.com/gpu, rename: nvidia.com/gpu.tenth, devices: [2], replicas: 4");
    String rendered = karpenter("config.map.any=" + config, EXTENDED);
    assertThat(capacity(rendered, FOUR))
        .isEqualTo(Map.of("nvidia.com/gpu", "1", "nvidia.com/gpu.tenth", "24"));
    assertThat(capacity(rendered, ONE))
        .isEqualTo(Map.of("nvidia.com/gpu", "0", "nvidia.com/gpu.tenth", "10"));
    assertThat(rendered)
        .as("the first entry's, as the extender labels by the first GPUs")
        .contains("nvidia.com/gpu.replicas: \"10\"", "--default-replicas-per-gpu=10\n");
  }

  @Test
  void sharedSuffix_isPartOfTheName_andGpusThatTheEntryLeavesOutAreWhole() {
    String config =
        timeSliced("name: gpu, devices: 3, replicas: 10")
            .replace("resources:", "renameByDefault: true, resources:");
    String rendered = karpenter("config.map.any=" + config, EXTENDED);
    assertThat(capacity(rendered, FOUR))
        .isEqualTo(Map.of("nvidia.com/gpu", "1", "nvidia.com/gpu.shared", "30"));
  }

  @Test
  void whatNvidiasPluginIgnores_changesNoOffer() {
    String config =
        timeSliced(
            "name: nvidia.com/gpu, rename: nvidia.com/gpu.tenth, devices: 1, replicas: 4",
            "name: gpu, rename: nvidia.com/gpu.tenth, replicas: 10");
    String rendered = karpenter("config.map.any=" + config);
    assertThat(capacity(rendered, FOUR)).isEqualTo(Map.of("nvidia.com/gpu", "40"));
    assertThat(rendered).contains("--default-replicas-per-gpu=10\n");
  }

  @Test
  void mps_isALabelOfTheNodes() {
    String mps = "sharing:\n  mps:\n    resources:\n      - name: gpu\n        replicas: 8\n";
    String rendered = karpenter("config.map.any=" + mps);
    assertThat(capacity(rendered, FOUR)).isEqualTo(Map.of("nvidia.com/gpu", "32"));
    assertThat(rendered)
        .contains("nvidia.com/mps.capable: \"true\"", "nvidia.com/gpu.sharing-strategy: mps")
        .contains("tranche.dev/mps-capable: \"true\"", "tranche.dev/sharing-strategy: mps");
  }

  @Test
  void configKey_choosesAndIsTheNodesLabel() {
    String rendered = karpenter(COARSE, FINE, "autoscaling.configKey=fine");
    assertThat(capacity(rendered, ONE)).isEqualTo(Map.of("nvidia.com/gpu", "20"));
    assertThat(rendered)
        .contains("nvidia.com/device-plugin.config: fine", "--default-replicas-per-gpu=20\n");
    assertThatThrownBy(() -> karpenter(COARSE, FINE, "autoscaling.configKey=finer"))
        .hasMessageContaining(
            "autoscaling.configKey is \"finer\", which is not a key of config.map");
  }

  private static String timeSliced(String... resources) {
    return "version: v1\nsharing: {timeSlicing: {resources: [{"
        + String.join("}, {", resources)
        + "}]}}\n";
  }

  /** As the node plugin's ConfigChoice. */
  @Test
  void configWithoutAKey_isTheOneOfNodesWithoutALabel() {
    assertThatThrownBy(() -> karpenter(COARSE, FINE))
        .hasMessageContaining("name one in autoscaling.configKey or config.default")
        .hasMessageContaining("the keys are coarse, fine");
    assertThat(render(COARSE, FINE)).contains("--default-replicas-per-gpu=1\n");

    String five = "config.map.default=" + shared(5);
    String rendered = karpenter(COARSE, FINE, five);
    assertThat(capacity(rendered, ONE)).isEqualTo(Map.of("nvidia.com/gpu", "5"));
    assertThat(rendered).contains("--default-replicas-per-gpu=5\n");

    rendered = karpenter(COARSE, FINE, five, "config.default=fine");
    assertThat(capacity(rendered, ONE)).isEqualTo(Map.of("nvidia.com/gpu", "20"));
    assertThat(rendered).contains("--default-replicas-per-gpu=20\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"autoscaling.configKey", "config.default"})
  void keyOfTheChartsOwnConfig_isDefault(String value) {
    assertThatThrownBy(() -> karpenter(value + "=finer"))
        .hasMessageContaining(
            value + " is \"finer\", which is not a key of the config that the chart makes")
        .hasMessageContaining("its keys are default.");
    assertThat(karpenter(value + "=default")).contains("kind: NodePool\n");
  }

  @Test
  void taintsThatStay_areStoodByTheDaemonSets() {
    String rendered =
        render(
            "config.map.any=sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}",
            "autoscaling.taints[0].key=example.com/team",
            "autoscaling.taints[0].value=ml",
            "autoscaling.taints[0].effect=NoExecute");
    List<DaemonSet> sets =
        documents(rendered)
            .filter(text -> text.contains("\nkind: DaemonSet\n"))
            .map(text -> Serialization.unmarshal(text, DaemonSet.class))
            .toList();
    assertThat(sets)
        .hasSize(2)
        .allSatisfy(
            set ->
                assertThat(set.getSpec().getTemplate().getSpec().getTolerations())
                    .contains(
                        new Toleration("NoExecute", "example.com/team", "Exists", null, null)));
  }

  @Test
  void configOfSomebodyElse_isTakenAtTheValuesWord() {
    String[] theirs = {"config.name=theirs", "defaultReplicasPerGpu=5"};
    String rendered = karpenter(theirs);
    assertThat(capacity(rendered, FOUR)).isEqualTo(Map.of("nvidia.com/gpu", "20"));
    assertThat(rendered)
        .contains("nvidia.com/gpu.replicas: \"5\"", "tranche.dev/replicas-per-gpu: \"5\"")
        .doesNotContain("sharing-strategy: ");
    rendered = karpenter(theirs[0], theirs[1], "advertisedResources[0]=nvidia.com/gpu.shared");
    assertThat(capacity(rendered, FOUR))
        .isEqualTo(Map.of("nvidia.com/gpu", "0", "nvidia.com/gpu.shared", "20"));
  }

  @Test
  void clusterAutoscaler_getsTagsPerInstanceType_andTheKubeletsArguments() {
    String rendered =
        render(
            "autoscaling.clusterAutoscaler.enabled=true",
            "autoscaling.instanceTypes.g5\\.12xlarge=4",
            "autoscaling.taints[0].key=nvidia.com/gpu",
            "autoscaling.taints[0].value=present",
            "autoscaling.taints[0].effect=NoSchedule");
    Map<String, String> data =
        documents(rendered)
            .filter(text -> text.contains("name: tranche-node-templates\n"))
            .map(text -> Serialization.unmarshal(text, ConfigMap.class).getData())
            .findFirst()
            .orElseThrow();
    String prefix = "k8s.io/cluster-autoscaler/node-template/";
    assertThat(Serialization.unmarshal(data.get(FOUR), Map.class))
        .isEqualTo(
            Map.of(
                prefix + "resources/nvidia.com/gpu",
                "80",
                prefix + "label/nvidia.com/gpu.replicas",
                "20",
                prefix + "label/nvidia.com/gpu.sharing-strategy",
                "time-slicing",
                prefix + "label/tranche.dev/replicas-per-gpu",
                "20",
                prefix + "label/tranche.dev/sharing-strategy",
                "time-slicing",
                prefix + "taint/nvidia.com/gpu",
                "present:NoSchedule",
                prefix + "taint/" + Names.STARTUP_TAINT_CLUSTER_AUTOSCALER,
                "true:NoSchedule"));
    assertThat(data.get("kubelet-arguments"))
        .contains("--node-labels=nvidia.com/gpu.replicas=20,nvidia.com/gpu.sharing-strategy")
        .contains("--register-with-taints=nvidia.com/gpu=present:NoSchedule,")
        .contains("," + Names.STARTUP_TAINT_CLUSTER_AUTOSCALER + "=true:NoSchedule");
  }

  @Test
  void nodesStartWithoutTheTaint_whereNobodyWouldLiftIt() {
    assertThat(karpenter("extender.enabled=false", "autoscaling.clusterAutoscaler.enabled=true"))
        .doesNotContain("startupTaints", "plugin-not-ready=true");
  }

  @Test
  void ownNodePool_andOwnNodeClass_areLeftAlone() {
    String nodeClass = "autoscaling.karpenter.nodePool.nodeClassName=theirs";
    assertThat(karpenter(nodeClass))
        .contains("kind: NodePool\n", "kind: EC2NodeClass, name: theirs")
        .doesNotContain("kind: EC2NodeClass\n");
    assertThat(karpenter(nodeClass, "autoscaling.karpenter.nodePool.create=false"))
        .contains("kind: NodeOverlay\n")
        .doesNotContain("kind: NodePool\n");
  }

  @Test
  void nodeClassSpec_liesOverWhatTheClustersNameFinds() {
    String rendered = karpenter("autoscaling.karpenter.nodeClass.spec.instanceProfile=gpu-nodes");
    assertThat(rendered)
        .contains("instanceProfile: gpu-nodes", "karpenter.sh/discovery: mine")
        .doesNotContain("role: Karpenter");
  }

  @ParameterizedTest
  @CsvSource({
    "migStrategy, mixed, 'autoscaling.instanceTypes says that g5.12xlarge has 4 GPUs'",
    "config.map.any, 'resources:\n  gpus:\n  - pattern: A100\n    name: a100', with resources by model in the config",
    "autoscaling.karpenter.nodeClass.clusterName, '', nodeClass.clusterName",
  })
  void whatCannotBeKnown_isAskedForInASentence(String key, String value, String sentence) {
    assertThatThrownBy(() -> karpenter(key + "=" + value, EXTENDED)).hasMessageContaining(sentence);
  }

  @Test
  void nodesWithoutInstanceTypes_areAskedFor() {
    assertThatThrownBy(() -> render("autoscaling.clusterAutoscaler.enabled=true"))
        .hasMessageContaining("autoscaling.instanceTypes is empty");
  }

  @Test
  void offerThatIsSpeltOut_isTold_alsoWithMig() {
    var values = new HashMap<>(KARPENTER);
    values.keySet().removeIf(name -> name.startsWith("autoscaling.instanceTypes"));
    values.put("migStrategy", "mixed");
    values.put("autoscaling.instanceTypes.p4d\\.24xlarge.nvidia\\.com/mig-1g\\.5gb", 56);
    String rendered = render(values);
    assertThat(capacity(rendered, "p4d.24xlarge")).isEqualTo(Map.of("nvidia.com/mig-1g.5gb", "56"));
    assertThat(rendered)
        .as("labels that the extender would not write")
        .doesNotContain("gpu.replicas: ", "replicas-per-gpu: ", "sharing-strategy: ");
    values.put("autoscaling.instanceTypes.p4d\\.24xlarge.nvidia\\.com/gpu", 1);
    assertThat(render(values)).contains("nvidia.com/gpu.replicas: ");
  }

  private static String shared(int replicas) {
    return timeSliced("name: gpu, replicas: " + replicas);
  }

  private static String karpenter(String... settings) {
    var all = new HashMap<>(KARPENTER);
    all.putAll(values(settings));
    return render(all);
  }

  /** Of the NodeOverlay that names the instance type. */
  private static Map<String, Object> capacity(String rendered, String instanceType) {
    return documents(rendered)
        .filter(text -> text.contains("\nkind: NodeOverlay\n"))
        .filter(text -> text.contains('"' + instanceType + '"'))
        .map(text -> Serialization.unmarshal(text, GenericKubernetesResource.class))
        .map(overlay -> overlay.<Map<String, Object>>get("spec", "capacity"))
        .findFirst()
        .orElseThrow();
  }
}
