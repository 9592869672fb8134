package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.renderFile;
import static dev.tranche.e2e.chart.ValuesSchemaTest.map;
import static dev.tranche.e2e.chart.ValuesSchemaTest.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values as people write them: numbers for strings, keys with nothing below them, odd words. */
class OddValuesTest {
  /** Sections without which the chart renders all the same. */
  private static final Set<String> OPTIONAL =
      Set.of(
          "updateStrategy",
          "updateStrategy.rollingUpdate",
          "grafanaDashboards",
          "extender.verbs",
          "extender.api.aggregated");

  @TempDir static Path folder;

  @Test
  void numbersOfAFile_keepTheirDigits() throws IOException {
    String rendered =
        renderFile(
            folder,
            """
            image: {tag: 20261126}
            scheduler: {image: {tag: 12345678}}
            commonLabels: {build: 20261127}
            podAnnotations: {ratio: 0.5, size: 10000001}
            nodeSelector: {rack: 10000002}
            env: [{name: ONE, value: 1048576}, {name: EMPTY}]
            nodePlugin: {env: {TWO: 16777216}}
            criticalPodsQuota: {enabled: true, pods: 1000003}
            autoscaling:
              instanceTypes: {any: {example.com/bytes: 1000004}}
              labels: {zone: 10000005}
              taints: [{key: t, value: "10000006", effect: NoSchedule}]
              clusterAutoscaler: {enabled: true}
            podSecurityContext: {runAsUser: 1000650000}
            """);
    assertThat(rendered)
        .contains("tranche/tranche:20261126", "kube-scheduler:12345678", "build: \"20261127\"")
        .contains("ratio: \"0.5\"", "size: \"10000001\"", "rack: \"10000002\"")
        .contains("{name: ONE, value: \"1048576\"}", "{name: TWO, value: \"16777216\"}")
        .contains("{name: EMPTY, value: \"\"}", "pods: \"1000003\"")
        .contains("example.com/bytes: \"1000004\"", "zone: \"10000005\"", "\"10000006:NoSchedule\"")
        .contains("--register-with-taints=t=10000006:NoSchedule", "runAsUser: 1000650000")
        .doesNotContain("<nil>")
        .doesNotContainPattern("[0-9]e[+][0-9]");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | 0",
        "securityContext: {privileged: true} | 0",
        "securityContext: {runAsUser: 7} | 7",
        "podSecurityContext: {runAsUser: 7} | ",
        "{podSecurityContext: {runAsUser: 7}, securityContext: {runAsUser: 8}} | 8",
        "{podSecurityContext: {runAsUser: 7, runAsNonRoot: true}, migStrategy: mixed} | ",
        "{podSecurityContext: {runAsNonRoot: true}, securityContext: {runAsNonRoot: false}} | 0",
      })
  void uid_isRoot_unlessTheValuesGiveAnother(String values, @Nullable Long uid) throws IOException {
    assertThat(plugin(renderFile(folder, values)).getSecurityContext().getRunAsUser())
        .isEqualTo(uid);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "podSecurityContext: {runAsNonRoot: true} | podSecurityContext.runAsNonRoot is true",
        "securityContext: {runAsNonRoot: true} | securityContext.runAsNonRoot is true",
        "{podSecurityContext: {runAsUser: 0, runAsNonRoot: true}} | podSecurityContext.runAsNonRoot"
            + " is true",
        "{podSecurityContext: {runAsUser: 7}, securityContext: {runAsUser: 0, runAsNonRoot: true}}"
            + " | securityContext.runAsNonRoot is true",
        "runtimeClass: {create: true, name: \"\"} | give the name of the RuntimeClass that is to be"
            + " created",
        "devicePlugin: {enableHostNetwork: true} | port 9090 would be a port of the node",
        "nodePlugin: {sampleInterval: 61s} | nodePlugin.sampleInterval is \"61s\", which is no"
            + " duration from 100ms to 60s",
        "nodePlugin: {healthQuietPeriod: 5 minutes} | no duration from 0s to 24h",
      })
  void whatCannotRun_isRefusedWithWhatToDo(String values, String advice) {
    assertThatThrownBy(() -> renderFile(folder, values)).hasMessageContaining(advice);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{enabled: true, enableHostNetwork: false}",
        "{enabled: null, enableHostNetwork: null}",
        "{}"
      })
  void devicePluginOfNvidiasChart_isTakenAsItShips(String devicePlugin) throws IOException {
    assertThat(renderFile(folder, "devicePlugin: " + devicePlugin)).contains("kind: DaemonSet");
  }

  @Test
  void podSecurityContext_isThatOfBothDaemonSets() throws IOException {
    String rendered =
        renderFile(folder, "{podSecurityContext: {supplementalGroups: [7]}, config: {name: mine}}");
    assertThat(rendered.split("supplementalGroups:", -1)).hasSize(1 + 2);
  }

  @Test
  void driverRoot_isTheHostsHoweverItIsSpelt() throws IOException {
    for (String root : List.of("/", "//", "/./", "/usr/..")) {
      assertThat(renderFile(folder, "nvidiaDriverRoot: " + root))
          .as("the whole root has root's files and sockets")
          .contains("hostPath: {path: \"/usr\"}")
          .doesNotContain("name: driver-root");
    }
    assertThat(renderFile(folder, "{nvidiaDriverRoot: /run/driver/, kubeletRoot: /data/kubelet/}"))
        .contains(
            "hostPath: {path: \"/run/driver\"}", "hostPath: {path: /data/kubelet/pod-resources,");
  }

  @Test
  void sectionWithNothingBelow_isRefusedByName_orIsTheDefault() throws IOException {
    var schema = tree("values.schema.json");
    Set<String> sections = sections(schema, "");
    assertThat(sections).hasSizeGreaterThan(25).containsAll(OPTIONAL);
    // renderFile sets a value below this one, which Helm itself refuses.
    sections.remove("guard");
    for (String section : sections) {
      String values = nothingBelow(section);
      if (OPTIONAL.contains(section)) {
        assertThat(renderFile(folder, values)).contains("kind: DaemonSet");
      } else {
        assertThatThrownBy(() -> renderFile(folder, values))
            .as(section)
            .hasMessageContaining(section + " is null: your values have the key");
      }
    }
  }

  /** A null would switch it off, or make an object that the API server refuses. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "image.repository",
        "replicas",
        "mps.root",
        "criticalPodsQuota.pods",
        "nodePlugin.enabled",
        "nodePlugin.usagePerPod",
        "nodePlugin.memoryLimitOptOut",
        "webhook.enabled",
        "webhook.replicas",
        "webhook.timeoutSeconds",
        "webhook.admissionPolicies",
        "webhook.gpuMemoryReserve",
        "webhook.compat.kai",
        "webhook.compat.hami",
        "webhook.hostNetwork",
        "extender.enabled",
        "extender.mode",
        "extender.replicas",
        "extender.policy",
        "extender.memoryGuard",
        "extender.api.enabled",
        "extender.api.port",
        "extender.api.localPort",
        "scheduler.name",
        "scheduler.image.repository",
        "scheduler.logVerbosity",
        "autoscaling.karpenter.nodePool.create",
        "autoscaling.karpenter.nodePool.name",
        "test.namespace",
        "cleanup.enabled"
      })
  void singleValueThatIsNeeded_isRefusedByName_ifItIsNull(String value) {
    assertThatThrownBy(() -> renderFile(folder, nothingBelow(value)))
        .hasMessageContaining(value + " is null: your values have the key");
  }

  private static String nothingBelow(String path) {
    String[] keys = path.split("\\.");
    var yaml = new StringBuilder();
    for (int depth = 0; depth < keys.length; depth++) {
      yaml.append("  ".repeat(depth)).append(keys[depth]).append(":\n");
    }
    return yaml.toString();
  }

  /** Maps whose keys the chart knows. */
  private static Set<String> sections(Map<String, Object> schema, String path) {
    var found = new TreeSet<String>();
    map(schema.get("properties"))
        .forEach(
            (key, child) -> {
              if (map(child).containsKey("properties")) {
                found.add(path + key);
                found.addAll(sections(map(child), path + key + "."));
              }
            });
    return found;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nodeSelector",
        "affinity",
        "tolerations",
        "imagePullSecrets",
        "env",
        "resources",
        "podAnnotations",
        "securityContext",
        "podSecurityContext",
        "nvidiaDevRoot",
        "failOnInitError"
      })
  void keyOfNvidiasWithNothingBelow_isAbsent(String key) throws IOException {
    assertThat(renderFile(folder, key + ":")).contains("kind: DaemonSet").doesNotContain("nil");
  }

  static Container plugin(String rendered) {
    return documents(rendered)
        .filter(document -> document.contains("kind: DaemonSet"))
        .map(document -> Serialization.unmarshal(document, DaemonSet.class))
        .flatMap(set -> set.getSpec().getTemplate().getSpec().getContainers().stream())
        .filter(container -> container.getName().equals("node-plugin"))
        .findFirst()
        .orElseThrow();
  }
}
