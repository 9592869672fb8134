package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.render;
import static dev.tranche.e2e.chart.Chart.values;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.tranche.e2e.install.Shell;
import io.fabric8.kubernetes.api.model.NodeSelectorTerm;
import io.fabric8.kubernetes.api.model.SecurityContext;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class RenderingTest {
  static final Iterable<Rendering> RENDERINGS = Rendering.ALL;

  @ParameterizedTest
  @FieldSource("RENDERINGS")
  void deploy_equalsTheRenderedChart(Rendering rendering) {
    assertThat(rendering.committed(Path.of("../deploy")))
        .as("deploy/%s: write it anew with ./check --render", rendering.file())
        .isEqualTo(rendering.render(Chart.FOLDER));
  }

  @ParameterizedTest
  @CsvSource({
    "webhook.enabled, false, extender.enabled needs webhook.enabled",
    "config.default, theirs, 'config.default is \"theirs\", which is not a key of config.map'",
    "config.name, theirs, config.map and config.name are both set",
    "replicas, 30, 'replicas is 30 and has no effect beside config.map: give the number in the"
        + " config'",
  })
  void impossibleValues_areRefusedInASentence(String key, String value, String sentence) {
    assertThatThrownBy(() -> render(Map.of("config.map.ours", "version: v1", key, value)))
        .hasMessageContaining(sentence);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "version: [v1|config.map.mine is not a config in NVIDIA's format",
        "- v1|config.map.mine is not a config in NVIDIA's format",
        "{kind: ConfigMap, data: {b: x, a: y}}|config.map.mine is a whole ConfigMap: write each key"
            + " below its data, a, b, to a file of its own",
        "{version: v2}|config.map.mine: version is \"\"v2\"\"; allowed: v1.",
        "{version: v1, shared: {}}|config.map.mine has the unknown key \"\"shared\"\"; allowed are"
            + " version, flags",
        "{sharing: 10}|config.map.mine: sharing must be a map, not 10.",
        "{sharing: {timeslicing: {}}}|unknown key \"\"timeslicing\"\"; allowed are timeSlicing,"
            + " mps.",
        "{sharing: {timeSlicing: {}}}|sharing.timeSlicing.resources is empty or not a list",
        "{sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}}|resources[0].replicas is"
            + " null; allowed: a whole number from 1 to 10000.",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: '10'}]}}}|resources[0].replicas"
            + " is \"\"10\"\"; allowed: a whole number from 1 to 10000, without quotation marks.",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2.5}]}}}|resources[0].replicas"
            + " is 2.5; allowed: a whole number from 1 to 10000.",
        "{sharing: {mps: {resources: [{name: gpu, replicas:"
            + " 1}]}}}|sharing.mps.resources[0].replicas is 1; allowed: a whole number from 2 to"
            + " 10000.",
        "{sharing: {mps: {resources: [{replicas: 2}]}}}|resources[0] lacks its name",
        "{resources: {gpu: []}}|config.map.mine: resources has the unknown key \"\"gpu\"\"",
      })
  void configThatThePluginWouldRefuse_isRefusedInASentence(String config, String sentence) {
    assertThatThrownBy(() -> render(Map.of("config.map.mine", config)))
        .hasMessageContaining(sentence.replace("\"\"", "\""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "migStrategy|none|none",
        "migStrategy|single|SYS_ADMIN",
        "migStrategy|mixed|SYS_ADMIN",
        "deviceListStrategy|volume-mounts|SYS_ADMIN",
        "nodePlugin.memoryLimits|required|none",
        "nodePlugin.memoryLimits|off|none",
        "deviceListStrategy|cdi-cri|none",
        "compatWithCPUManager|true|privileged",
        "compatWithCPUManager|false|none",
        "config.name|theirs|SYS_ADMIN",
        "config.map.ours|{version: v1, flags: {migStrategy: mixed}}|SYS_ADMIN",
        "config.map.ours|{version: v1, flags: {migStrategy: none}}|none",
        "config.map.ours|{version: v1, flags: {failOnInitError: false}}|none",
        "config.map.ours|{version: v1, flags: {plugin: {deviceListStrategy: [envvar,"
            + " volume-mounts]}}}|SYS_ADMIN",
        "nodePlugin.env.MIG_STRATEGY|single|SYS_ADMIN",
      })
  void nodePlugin_hasThePrivilegesOfItsStrategies(String key, String value, String expected) {
    SecurityContext context = pluginSecurity(Map.of(key, value));
    assertThat(context.getRunAsUser()).isZero();
    assertThat(context.getReadOnlyRootFilesystem()).isTrue();
    boolean privileged = Boolean.TRUE.equals(context.getPrivileged());
    assertThat(privileged).isEqualTo(expected.equals("privileged"));
    if (!privileged) {
      assertThat(context.getCapabilities().getDrop()).containsExactly("ALL");
      assertThat(context.getCapabilities().getAdd())
          .isEqualTo(expected.equals("none") ? List.of() : List.of("SYS_ADMIN"));
    }
  }

  @Test
  void migMonitor_isOnWithMigAlone_andAValueTakesPrecedenceOverConfigs() {
    String monitor = "{name: NVIDIA_MIG_MONITOR_DEVICES, value: \"all\"}";
    assertThat(render(Map.of("migStrategy", "mixed"))).contains(monitor);
    assertThat(render(Map.of("deviceListStrategy", "volume-mounts"))).doesNotContain(monitor);
    var theirs = values("config.name=theirs", "migStrategy=none", "deviceListStrategy=envvar");
    assertThat(render(theirs)).doesNotContain(monitor);
    assertThat(pluginSecurity(theirs).getCapabilities().getAdd()).isEmpty();
  }

  private static SecurityContext pluginSecurity(Map<String, Object> values) {
    return OddValuesTest.plugin(render(values)).getSecurityContext();
  }

  @Test
  void hostsRoot_isMountedOnlyWhereTheDriverLies_andAnotherRootWhole() {
    assertThat(render())
        .contains("mountPath: /driver-root/usr", "mountPath: /driver-root/dev")
        .contains("hostPath: {path: \"/usr\"}", "hostPath: {path: \"/dev\"}")
        .doesNotContain("hostPath: {path: \"/\"}");
    assertThat(render(Map.of("nvidiaDriverRoot", "/run/nvidia/driver")))
        .contains("mountPath: /driver-root,", "hostPath: {path: \"/run/nvidia/driver\"}")
        .doesNotContain("hostPath: {path: \"/usr\"}");
  }

  /** Kubernetes has the folder of device plugins as a constant, whatever --root-dir says. */
  @Test
  void kubeletRoot_movesPodResources_butNotTheFolderOfDevicePlugins() {
    assertThat(render(Map.of("kubeletRoot", "/data/kubelet")))
        .contains("hostPath: {path: /var/lib/kubelet/device-plugins, type: Directory}")
        .contains("hostPath: {path: /data/kubelet/pod-resources, type: Directory}")
        .contains("--kubelet-root=/data/kubelet\n")
        .doesNotContain("/data/kubelet/device-plugins");
  }

  @ParameterizedTest
  @CsvSource({
    "privileged, true, privileged: true, runAsUser: 0",
    "runAsUser, 1000, runAsUser: 1000, runAsUser: 1000",
  })
  void securityContext_keepsRoot_unlessAnotherUserIsGiven(
      String key, Object value, String given, String user) {
    String plugin =
        documents(render(Map.of("securityContext." + key, value)))
            .filter(document -> document.contains("name: tranche-node-plugin\n"))
            .filter(document -> document.contains("kind: DaemonSet"))
            .findFirst()
            .orElseThrow();
    assertThat(plugin).contains("            " + given + "\n", "            " + user + "\n");
    assertThat(plugin.split("runAsUser", -1)).hasSize(2);
  }

  @Test
  void nodePlugin_asksForTheDeviceNodesOfCompute() {
    assertThat(render()).contains("{name: NVIDIA_DRIVER_CAPABILITIES, value: \"compute,utility\"}");
  }

  @Test
  void nodePlugin_leavesNodesWhoseDriverTheGpuOperatorUpgrades_besideTheUsersAffinity() {
    assertThat(render())
        .contains("nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.client")
        .contains("- paused-for-driver-upgrade");
    String term =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            + ".matchExpressions[0]";
    assertThat(render(Map.of(term + ".key", "zone", term + ".operator", "Exists")))
        .contains("- key: zone\n", "- paused-for-driver-upgrade");
  }

  /** A kube-scheduler ends at a flag that it does not know, or that it may not change. */
  @ParameterizedTest
  @CsvSource({
    "v1.30.14, false",
    "v1.32.13, false",
    "v1.33.0, true",
    "1.34.4, true",
    "v1.37.2-rc.0, true",
    "v1.38.0, false",
    "v1.3.1, false",
    "ours, false",
  })
  void asynchronousPreemption_isOff_inVersionsThatHaveIt(String tag, boolean off) {
    assertThat(
            render(Map.of("scheduler.image.tag", tag))
                .contains("- --feature-gates=SchedulerAsyncPreemption=false\n"))
        .isEqualTo(off);
  }

  /** The page of the plain YAML has a command for kube-schedulers that do not know the gate. */
  @Test
  void plainYamlForOlderVersions_equalsTheChartForThem() throws IOException {
    Matcher command =
        Pattern.compile("(?m)^(sed -e .*:(v1\\.\\d+\\.\\d+)#.* deploy/tranche.yaml) \\|")
            .matcher(Files.readString(Path.of("../docs/platform-engineer.md")));
    assertThat(command.find()).isTrue();
    Rendering all = Rendering.ALL.iterator().next();
    Map<String, Object> values = Map.of("scheduler.image.tag", command.group(2));
    assertThat(Shell.run(Path.of(".."), command.group(1)).orFail())
        .isEqualTo(new Rendering(all.file(), all.purpose(), values).render(Chart.FOLDER))
        .doesNotContain("feature-gates");
  }

  @Test
  void managedResources_followTheConfig() {
    String config =
        "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n    -"
            + " name: nvidia.com/gpu\n      replicas: 4\n";
    // The number beside it is the former default, which --reuse-values keeps. NOTES.txt names it.
    assertThat(render(Map.of("config.map.any", config, "replicas", "10")))
        .contains("- name: nvidia.com/gpu.shared")
        .contains("--resource=nvidia.com/gpu.shared,nvidia.com/gpu\n")
        .contains("--default-replicas-per-gpu=4");
  }

  /** 10 and 20 are not refused there, since a user may not have chosen them. */
  @ParameterizedTest
  @ValueSource(strings = {"10", "20"})
  void replicasBesideAConfig_areSaidToHaveNoEffect(String replicas) {
    String config = "sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}";
    assertThat(Chart.notes(Map.of("config.map.any", config, "replicas", replicas)))
        .contains(
            "Pods are sized for 4 replicas per GPU (config any). The value replicas has no effect"
                + " beside config.map.");
    assertThat(Chart.notes(Map.of("replicas", replicas))).doesNotContain("has no effect");
  }

  @Test
  void managedResources_areThoseOfEveryEntry_andOfTheGpusThatItLeavesOut() {
    String config =
        """
        resources:
          gpus:
          - pattern: A100
            name: a100
          mig:
          - pattern: 1g.*
            name: small
        sharing:
          timeSlicing:
            resources:
            - name: gpu
              rename: gpu.tenth
              devices: 1
              replicas: 10
            - name: a100
              rename: a100.half
              replicas: 2
        """;
    assertThat(render(Map.of("config.map.any", config, "config.nvidiaCompatible", "extended")))
        .contains(
            "--resource=nvidia.com/gpu,nvidia.com/a100,nvidia.com/small,nvidia.com/gpu.tenth,nvidia.com/a100.half\n")
        .contains("{name: TRANCHE_NVIDIA_COMPATIBLE, value: \"extended\"}");
    assertThat(render(Map.of("config.map.any", config)))
        .as("what NVIDIA's plugin ignores names no resource")
        .contains("--resource=nvidia.com/gpu\n")
        .doesNotContain("TRANCHE_NVIDIA_COMPATIBLE");
  }

  @Test
  void daemonSets_areForLinux_unlessTheUserSaysOtherwise() {
    assertThat(render()).contains("nodeSelector:\n        kubernetes.io/os: linux");
    assertThat(render(Map.of("nodeSelector.kubernetes\\.io/os", "windows")))
        .contains("kubernetes.io/os: windows")
        .doesNotContain("kubernetes.io/os: linux");
  }

  private static final String MPS =
      "version: v1\nsharing:\n  mps:\n    renameByDefault: true\n    resources:\n    - name:"
          + " nvidia.com/gpu\n      replicas: 10\n";

  @Test
  void mps_bringsItsDaemonsToLabelledNodesOnly() {
    String rendered =
        render(Map.of("config.map.any", MPS, "nodeSelector.gpus", "true", "mps.root", "/srv/mps"));
    assertThat(rendered)
        .contains("name: tranche-mps-control-daemon")
        .contains("gpus: \"true\"\n        kubernetes.io/os: linux\n")
        .contains("{name: MPS_ROOT, value: \"/srv/mps\"}")
        .contains("{name: NVIDIA_DRIVER_CAPABILITIES, value: \"compute,utility\"}")
        .contains("hostPath: {path: \"/srv/mps/shm\"}")
        .contains("- name: nvidia.com/gpu.shared")
        .contains("- name: nvidia.com/gpu\n");
    assertThat(render(Map.of("config.name", "theirs"))).contains("mps-control-daemon, mount-shm");
    assertThat(render()).doesNotContain("mps");
  }

  /** Feature Discovery without a config with MPS sets NVIDIA's label to false, again and again. */
  @Test
  void mpsDaemons_runWithEitherLabel_inEachTermOfTheUsers() {
    String term =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]"
            + ".matchExpressions[0].%s";
    var values = new HashMap<String, Object>();
    values.put("config.map.any", MPS);
    for (int i = 0; i < 2; i++) {
      values.put(term.formatted(i, "key"), "zone-" + i);
      values.put(term.formatted(i, "operator"), "Exists");
    }
    List<NodeSelectorTerm> terms =
        documents(render(values))
            .filter(text -> text.contains("name: tranche-mps-control-daemon\n"))
            .filter(text -> text.contains("kind: DaemonSet"))
            .map(text -> Serialization.unmarshal(text, DaemonSet.class))
            .map(set -> set.getSpec().getTemplate().getSpec().getAffinity().getNodeAffinity())
            .flatMap(
                node ->
                    node
                        .getRequiredDuringSchedulingIgnoredDuringExecution()
                        .getNodeSelectorTerms()
                        .stream())
            .toList();
    assertThat(terms)
        .extracting(
            t -> t.getMatchExpressions().getFirst().getKey(),
            t -> t.getMatchExpressions().getLast().getKey(),
            t -> t.getMatchExpressions().getLast().getValues())
        .containsExactly(
            tuple("zone-0", "nvidia.com/mps.capable", List.of("true")),
            tuple("zone-0", "tranche.dev/mps-capable", List.of("true")),
            tuple("zone-1", "nvidia.com/mps.capable", List.of("true")),
            tuple("zone-1", "tranche.dev/mps-capable", List.of("true")));
  }

  @Test
  void othersWords_areSwitchedOnOneByOne() {
    assertThat(render(Map.of("webhook.compat.kai", true))).contains("--compat=kai\n");
    assertThat(render(Map.of("webhook.compat.kai", true, "webhook.compat.hami", true)))
        .contains("--compat=kai,hami\n");
    assertThat(render()).doesNotContain("--compat");
  }

  @Test
  void guard_hasAnEntryPerMode_andFailsOpen() {
    String on = render(Map.of("guard.mode", "deny"));
    assertThat(on)
        .contains("name: guard.tranche.dev", "name: guard-audit.tranche.dev")
        .contains("path: /mutate/guard/deny", "resources: [pods/ephemeralcontainers]")
        .contains("--guard-mode=deny")
        .contains("values: [\"tranche\",\"kube-system\"]")
        .as("a namespace of that name may be anybody's, from before")
        .doesNotContain("\"kube-system\",\"gpu-operator\"");
    // Four entries, two for updates, and the three policies that only warn.
    assertThat(on.split("failurePolicy: Ignore", -1)).hasSize(10);
    assertThat(render())
        .as("agents that need every GPU")
        .contains(
            "values:"
                + " [\"tranche\",\"kube-system\",\"gpu-operator\",\"nvidia-gpu-operator\",\"dcgm-exporter\"]");
    assertThat(render(Map.of("guard.enabled", false))).doesNotContain("/mutate/guard");
  }

  @Test
  void valuesForProduction_areThoseOfTheChart_andTurnMonitoringOn(@TempDir Path folder)
      throws IOException {
    String values = Files.readString(Chart.FOLDER.resolve("values-production.yaml"));
    assertThat(Chart.renderFile(folder, values))
        .contains("image: registry.example.com/tranche:", "--guard-mode=audit")
        .contains("kind: ServiceMonitor", "kind: PodMonitor", "kind: PrometheusRule")
        .contains("grafana_dashboard:", "{name: TRANCHE_POD_METRICS, value: \"false\"}")
        .contains("10.0.0.0/24", "kubernetes.io/metadata.name: monitoring");
  }

  @Test
  void valuesForFineShares_splitIntoSixty(@TempDir Path folder) throws IOException {
    String values = Files.readString(Chart.FOLDER.resolve("values-fine.yaml"));
    assertThat(Chart.renderFile(folder, values))
        .contains("replicas: 60", "--default-replicas-per-gpu=60");
  }

  /** Helm, Argo CD and Flux render the same. */
  @Test
  void noTemplate_asksTheCluster() throws IOException {
    try (var templates = Files.walk(Chart.FOLDER.resolve("templates"))) {
      for (Path template : templates.filter(Files::isRegularFile).toList()) {
        assertThat(Files.readString(template)).as(template.toString()).doesNotContain("lookup \"");
      }
    }
  }

  @Test
  void guardThatFailsClosed_leavesOutWhatKeepsAClusterAlive() {
    String closed = render("guard.failurePolicy=Fail", "guard.exemptNamespaces[0]=cni");
    assertThat(documents(closed))
        .filteredOn(document -> document.contains("kind: MutatingWebhookConfiguration"))
        .singleElement(STRING)
        .contains("values: [\"tranche\",\"kube-system\",\"cni\"")
        .satisfies(
            entries ->
                assertThat(entries.substring(0, entries.indexOf("fraction-update.tranche.dev")))
                    .doesNotContain("failurePolicy: Ignore"));
  }

  @Test
  void guard_knowsTheCdiAnnotationsThatThePluginWrites() {
    assertThat(render()).doesNotContain("--cdi-annotation-prefixes");
    String config = "{version: v1, flags: {plugin: {cdiAnnotationPrefix: nvidia.cdi.k8s.io/}}}";
    assertThat(render("guard.cdiAnnotationPrefixes[0]=a.example/", "config.map.default=" + config))
        .contains("--cdi-annotation-prefixes=a.example/,nvidia.cdi.k8s.io/\n");
  }

  @Test
  void networkPolicyOfTheWebhook_isForTheApiServersWhereTheyAreKnown() {
    assertThat(render()).containsPattern("port: https}\n\\s*- ports:");
    assertThat(render("networkPolicies.webhookCidrs[0]=10.0.0.0/24"))
        .containsPattern("port: https}\n\\s*from:\n\\s*- ipBlock: \\{cidr: \"10.0.0.0/24\"}");
  }

  @Test
  void certManager_makesTheCertificates_onlyWhenAsked() {
    assertThat(render()).doesNotContain("cert-manager.io");
    assertThat(render(Map.of("webhook.certManager.enabled", true)))
        .contains("cert-manager.io/inject-ca-from: tranche/tranche-webhook-tls")
        .contains("- --certificates=cert-manager")
        .contains("- tranche-extender-stream.tranche.svc.cluster.local")
        .contains("name: tranche-selfsigned");
    assertThat(
            render(
                "webhook.certManager.enabled=true", "webhook.certManager.issuerRef.name=corporate"))
        .contains("name: corporate")
        .doesNotContain("selfSigned");
  }

  @Test
  void certManager_makesAKubeSchedulersCertificate_forAsLongAsTheUserSays() {
    String enabled = "webhook.certManager.enabled=true";
    String duration = "webhook.certManager.schedulerClientDuration=4321h";
    assertThat(render(enabled, duration)).doesNotContain("4321h");
    assertThat(render(enabled, duration, "extender.mode=service"))
        .contains("secretName: tranche-scheduler-client-tls\n  duration: 4321h");
  }

  @Test
  void packed_scoresPodsWithoutGpusToo() {
    assertThat(render(Map.of("extender.policy", "packed"))).contains("prioritizeVerb: pack\n");
    assertThat(render(Map.of("extender.policy", "load"))).doesNotContain("prioritizeVerb: pack\n");
  }

  @Test
  void networkPolicies_letInWhatEachPartIsFor_andNothingElse() {
    assertThat(render(Map.of("networkPolicies.enabled", false)))
        .doesNotContain("kind: NetworkPolicy");
    String beside = render();
    assertThat(beside.split("kind: NetworkPolicy", -1)).hasSize(4);
    // By default only the port for nodes is closed to others.
    assertThat(beside.split("\n *from:\n", -1)).hasSize(2);
    assertThat(beside)
        .containsPattern("port: stream}\n\\s*from:\n\\s*- podSelector:")
        .doesNotContain("namespaceSelector: {}");
    assertThat(beside)
        .contains("port: https", "port: stream", "port: metrics")
        .doesNotContain("port: verbs", "Egress");
    assertThat(
            render(
                "extender.mode=service",
                "networkPolicies.schedulerCidrs[0]=10.0.0.0/24",
                "networkPolicies.metricsNamespaceSelector.matchLabels.monitors=true"))
        .containsPattern("port: verbs}\n\\s*from:\n\\s*- ipBlock: \\{cidr: \"10.0.0.0/24\"}")
        .containsPattern("namespaceSelector:\n\\s*matchLabels:\n\\s*monitors:");
  }

  @Test
  void verbs_haveAServiceWithoutSelector_andEveryReplicaMayBeReady() {
    assertThat(render()).doesNotContain("tranche-extender-verbs", "POD_IP");
    String service = render(Map.of("extender.mode", "service"));
    String verbs =
        documents(service)
            .filter(document -> document.contains("name: tranche-extender-verbs\n"))
            .findFirst()
            .orElseThrow();
    assertThat(verbs)
        .contains("kind: Service\n", "{name: verbs, port: 443, targetPort: 8443}")
        .doesNotContain("\n  selector:");
    assertThat(service)
        .contains("rollingUpdate: {maxUnavailable: 0, maxSurge: 1}", "fieldPath: status.podIP")
        .contains("kind: PodDisruptionBudget\nmetadata:\n  name: tranche-extender\n")
        .doesNotContain("type: Recreate");
  }

  @Test
  void namespaceOverride_isTheNamespaceOfEveryObject() {
    var values =
        values(
            "networkPolicies.enabled=true",
            "webhook.certManager.enabled=true",
            "criticalPodsQuota.enabled=true",
            "monitoring.serviceMonitor.enabled=true",
            "monitoring.podMonitor.enabled=true",
            "monitoring.prometheusRule.enabled=true",
            "config.map.any=" + MPS);
    String own = new Rendering("none", "none", "gpus", values).render(Chart.FOLDER);
    values.put("namespaceOverride", "gpus");
    String theirs = render(values);
    assertThat(withoutNamespace(theirs)).isEqualTo(withoutNamespace(own));
  }

  /** But for the object of that kind, which is not the chart's. */
  private static String withoutNamespace(String rendered) {
    return rendered.substring(rendered.indexOf("\n---\n", rendered.indexOf("kind: Namespace\n")));
  }

  /** kube-scheduler 1.30 answers 404 to /livez and /readyz, and was killed again and again. */
  @Test
  void kubeSchedulersProbes_haveAPathThatAllVersionsAnswer() throws IOException {
    assertThat(render())
        .containsPattern(
            "livenessProbe:\\s+httpGet: \\{path: /healthz, port: scheduler, scheme: HTTPS}")
        .containsPattern(
            "readinessProbe:\\s+httpGet: \\{path: /healthz, port: scheduler, scheme: HTTPS}")
        .doesNotContain("/livez", "/readyz, port: scheduler");
    Path contract = Path.of("src/test/resources/contract/scheduler.yaml");
    assertThat(Files.readString(contract)).contains("path: /healthz").doesNotContain("readyz");
  }

  @Test
  void kubeSchedulersMetrics_haveAPort_whereTheChartRunsIt() {
    String monitor = "monitoring.serviceMonitor.enabled=true";
    assertThat(render(monitor))
        .contains("- {name: scheduler, port: 10259, targetPort: scheduler}")
        .contains("- port: scheduler\n      scheme: https\n")
        .contains("port: metrics}\n        - {protocol: TCP, port: scheduler}\n");
    assertThat(
            render(
                monitor, "extender.mode=service", "networkPolicies.schedulerCidrs[0]=10.0.0.0/24"))
        .doesNotContain("10259", "port: scheduler");
  }
}
