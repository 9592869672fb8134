package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.render;
import static dev.tranche.e2e.chart.Chart.renderFile;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
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

/** What may be written into the chart's values, and what Helm says of the rest. */
class ValuesSchemaTest {

  /** Helm's own, in no chart's values. */
  private static final String GLOBAL = "global";

  @Test
  void schema_namesExactlyTheValuesThatThereAre() throws IOException {
    Set<String> described = described(tree("values.schema.json"), "");
    described.remove(GLOBAL);
    assertThat(described).isEqualTo(values(tree("values.yaml"), "", described));
  }

  @Test
  void schema_describesEveryValue_andClosesEveryMapOfTheChart() throws IOException {
    assertThat(shortcomings(tree("values.schema.json"), "")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "extendr.mode, service, extendr",
    "extender.replica, 3, replica",
    "webhook.compat.run, true, run",
    "nodePlugin.resources.limit.memory, 1Gi, limit",
  })
  void misspeltValue_isRefusedByName(String key, String value, String name) {
    assertThatThrownBy(() -> render(Map.of(key, value)))
        .hasMessageContaining("additional properties '" + name + "' not allowed");
  }

  @ParameterizedTest
  @CsvSource({
    "extender.mode, both, /extender/mode, '''scheduler'', ''service'''",
    "extender.policy, fast, /extender/policy, '''load'', ''packed'', ''spread'''",
    "extender.memoryGuard, on, /extender/memoryGuard, '''enforce'', ''score'', ''off'''",
    "extender.verbs.clientCertificate, yes, /extender/verbs/clientCertificate, '''required'',"
        + " ''off'''",
    "guard.mode, off, /guard/mode, '''audit'', ''void'', ''deny'''",
    "guard.timeoutSeconds, 60, /guard/timeoutSeconds, maximum",
    "mps.root, run/mps, /mps/root, does not match pattern",
    "webhook.compat, kai, /webhook/compat, want object",
    "replicas, 0, /replicas, minimum",
    "deviceListStrategy, cdi, /deviceListStrategy, does not match pattern",
  })
  void valueOutOfRange_isRefusedWithWhatIsAllowed(
      String key, String value, String place, String allowed) {
    assertThatThrownBy(() -> render(Map.of(key, value)))
        .hasMessageContaining(place)
        .hasMessageContaining(allowed);
  }

  @Test
  void nvidiasWords_areTakenInEveryFormThatItsChartTakes(@TempDir Path folder) throws IOException {
    String rendered =
        renderFile(
            folder,
            """
            migStrategy: null
            deviceListStrategy: [envvar, cdi-cri]
            compatWithCPUManager: true
            gdsEnabled: "false"
            cdi: {nvidiaHookPath: null}
            nodeSelector: {labelled: true, number: 3}
            env: [{name: ONE, value: 1}]
            nodePlugin: {env: {TWO: false}}
            """);
    assertThat(rendered)
        .contains("{name: DEVICE_LIST_STRATEGY, value: \"envvar,cdi-cri\"}")
        .contains(
            "{name: PASS_DEVICE_SPECS, value: \"true\"}", "{name: GDS_ENABLED, value: \"false\"}")
        .contains("labelled: \"true\"", "number: \"3\"")
        .contains("{name: ONE, value: \"1\"}", "{name: TWO, value: \"false\"}")
        .doesNotContain("MIG_STRATEGY", "NVIDIA_CDI_HOOK_PATH");
  }

  @ParameterizedTest
  @ValueSource(strings = {"memoryGuard: off", "replicas: two", "nodeSelector: [a]"})
  void valueOfAnotherType_isRefused(String line, @TempDir Path folder) {
    assertThatThrownBy(() -> renderFile(folder, "extender:\n  " + line + "\n"))
        .hasMessageContaining("at '/extender/" + line.split(":", 2)[0]);
  }

  @ParameterizedTest
  @CsvSource({
    "gfd.enabled, true, no GPU Feature Discovery",
    "nfd.enabled, true, no Node Feature Discovery",
    "devicePlugin.enabled, false, here the value is nodePlugin.enabled",
    "nodePlugin.memoryLimitsSetBy, plugin, nodePlugin.memoryLimitsSetBy is gone: NVIDIA's hook",
    "extender.mpsLoad, activity, extender.mpsLoad is gone: policy load",
    "webhook.plainRequestsServedBy, dra, webhook.plainRequestsServedBy is gone: pods choose",
    "extender.unlimitedPods, evict, extender.unlimitedPods is gone: delete the pods",
    "devicePlugin.config.name, x, config.name and config.default replace devicePlugin.config",
    "selectorLabelsOverride.a, b, selectors here are fixed",
    "resources[0], nvidia.com/gpu, advertisedResources",
    "scheduler.name, default-scheduler, extender.mode=service",
    "config.fallbackStrategies[0], empty, named",
    "monitoring.prometheusRule.enabled, true, monitoring.serviceMonitor.enabled",
  })
  void valueThatCannotBeMeant_isRefusedWithWhatToDo(String key, String value, String advice) {
    assertThatThrownBy(() -> render(Map.of(key, value))).hasMessageContaining(advice);
  }

  @Test
  void nvidiasDefaults_areTakenAsTheyStand(@TempDir Path folder) throws IOException {
    String rendered =
        renderFile(
            folder,
            """
            failOnInitError: null
            nvidiaDriverRoot: null
            kubeletRoot: null
            fullnameOverride: ""
            updateStrategy: {type: RollingUpdate}
            podAnnotations: {}
            podSecurityContext: {}
            securityContext: {}
            resources: {}
            config: {fallbackStrategies: [named, single]}
            gfd: {enabled: false}
            nfd: {enabled: false, nameOverride: x}
            devicePlugin: {enabled: true}
            allowDefaultNamespace: false
            priorityClassName: system-node-critical
            """);
    assertThat(rendered)
        .doesNotContain("nil")
        .contains("path: /var/lib/kubelet/device-plugins", "hostPath: {path: \"/usr\"}")
        .contains("{name: FAIL_ON_INIT_ERROR, value: \"false\"}");
  }

  /**
   * The values as NVIDIA ships them, by the release in which they last changed: 0.17.0 to 0.17.4,
   * 0.18.0, 0.18.1 to 0.18.2, and 0.19.0 to 0.20.0.
   */
  @ParameterizedTest
  @ValueSource(strings = {"0.17.0.yaml", "0.18.0.yaml", "0.18.1.yaml", "0.19.0.yaml"})
  void nvidiasReleasedValues_areTaken_exceptItsImage(String release, @TempDir Path folder)
      throws IOException {
    String values =
        Files.readString(Path.of("src/test/resources/chart/nvidia-values").resolve(release));
    assertThatThrownBy(() -> renderFile(folder, values))
        .hasMessageContaining(
            "image.repository is \"nvcr.io/nvidia/k8s-device-plugin\", which is NVIDIA's image")
        .hasMessageContaining("leave image.repository and image.tag out");
    String ours = values.replace("nvcr.io/nvidia/k8s-device-plugin", "tranche/tranche");
    assertThat(renderFile(folder, ours)).contains("image: tranche/tranche:");
  }

  @Test
  void cdiFeatureFlags_reachThePlugin(@TempDir Path folder) throws IOException {
    assertThat(renderFile(folder, "cdi: {featureFlags: \"a,b\"}"))
        .contains("{name: CDI_FEATURE_FLAGS, value: \"a,b\"}");
  }

  @Test
  void labelsAndAnnotations_areStrings_andStandOnce(@TempDir Path folder) throws IOException {
    String rendered =
        renderFile(
            folder,
            """
            commonLabels: {common: 1}
            serviceAccountAnnotations: {account: true}
            podAnnotations: {plugin: true}
            nodePlugin: {podAnnotations: {prometheus.io/scrape: false}, podLabels: {p: 2}}
            webhook:
              podAnnotations: {prometheus.io/scrape: false}
              podLabels: {w: true}
              configurationAnnotations: {admissions.enforcer/disabled: true}
            extender: {podAnnotations: {prometheus.io/port: 1}, podLabels: {e: 3}}
            """);
    documents(rendered)
        .forEach(document -> metadata(map(Serialization.unmarshal(document, Map.class))));
    assertThat(rendered)
        .contains("common: \"1\"", "account: \"true\"", "plugin: \"true\"")
        .contains("admissions.enforcer/disabled: \"true\"");
    assertThat(rendered.split("prometheus.io/scrape: \"false\"", -1)).hasSize(1 + 2);
    assertThat(rendered.split("prometheus.io/scrape", -1)).hasSize(1 + 3);
  }

  /** Labels and annotations, wherever they are, hold strings only. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "guard.failurePolicy",
        "guard.cdiAnnotationPrefixes",
        "webhook.configurationAnnotations",
        "webhook.securePort",
        "webhook.podLabels",
        "logLevel",
        "logFormat",
        "updateStrategy",
        "priorityClassName",
        "commonLabels"
      })
  void nullValue_isTheDefault(String key, @TempDir Path folder) throws IOException {
    String usual = renderFile(folder, "criticalPodsQuota: {enabled: true}");
    String[] path = key.split("\\.");
    String yaml = path.length == 1 ? key + ": null" : path[0] + ": {" + path[1] + ": null}";
    String rendered = renderFile(folder, yaml + "\ncriticalPodsQuota: {enabled: true}");
    assertThat(rendered).doesNotContain("nil").contains("failurePolicy: Ignore");
    if (!key.equals("priorityClassName")) {
      assertThat(rendered).isEqualTo(usual);
    }
  }

  @Test
  void labelsOfTheUser_doNotTakeSelectorsAway(@TempDir Path folder) throws IOException {
    String rendered =
        renderFile(
            folder,
            "{commonLabels: {app.kubernetes.io/name: foo, a: 1}, webhook: {podLabels: {a: 2}}}");
    assertThat(rendered).doesNotContain("foo").contains("a: \"1\"", "a: \"2\"");
  }

  private static void metadata(Map<String, Object> tree) {
    tree.forEach(
        (key, value) -> {
          if (value instanceof Map) {
            if (key.equals("labels") || key.equals("annotations")) {
              assertThat(map(value).values())
                  .allSatisfy(v -> assertThat(v).isInstanceOf(String.class));
            }
            metadata(map(value));
          }
        });
  }

  @Test
  void updateStrategy_isOfBothDaemonSets_withoutSurge(@TempDir Path folder) throws IOException {
    String rendered =
        renderFile(
            folder,
            """
            config: {name: mine}
            updateStrategy: {rollingUpdate: {maxUnavailable: 3}}
            """);
    assertThat(rendered.split("maxUnavailable: 3\n", -1)).hasSize(1 + 2);
    assertThat(rendered.split("maxSurge: 0\n", -1)).hasSize(1 + 2);
  }

  /** Else kubectl drain stops at them. */
  @Test
  void deployments_haveNoEmptyDir(@TempDir Path folder) throws IOException {
    String rendered = renderFile(folder, "nodePlugin: {enabled: false}");
    assertThat(rendered).contains("kind: Deployment").doesNotContain("emptyDir");
  }

  private static Set<String> described(Map<String, Object> schema, String path) {
    var found = new TreeSet<String>();
    map(schema.get("properties"))
        .forEach(
            (key, child) -> {
              // A value that is gone is refused by the templates, in a sentence.
              if (!map(child).containsKey("deprecated")) {
                found.add(path + key);
                found.addAll(described(map(child), path + key + "."));
              }
            });
    return found;
  }

  /** Goes as deep as the schema does: what is below is the user's own, as with a nodeSelector. */
  private static Set<String> values(Map<String, Object> values, String path, Set<String> schema) {
    var found = new TreeSet<String>();
    values.forEach(
        (key, value) -> {
          found.add(path + key);
          if (schema.stream().anyMatch(known -> known.startsWith(path + key + "."))) {
            found.addAll(values(map(value), path + key + ".", schema));
          }
        });
    return found;
  }

  private static Set<String> shortcomings(Map<String, Object> schema, String path) {
    var found = new HashSet<String>();
    if (!(schema.get("description") instanceof String)) {
      found.add(path + " lacks a description");
    }
    boolean typed =
        List.of("type", "enum", "anyOf", "allOf", "deprecated").stream()
            .anyMatch(schema::containsKey);
    if (!typed) {
      found.add(path + " says not what it may be");
    }
    if (schema.containsKey("properties")
        && !Boolean.FALSE.equals(schema.get("additionalProperties"))) {
      found.add(path + " takes misspelt names");
    }
    map(schema.get("properties"))
        .forEach((key, child) -> found.addAll(shortcomings(map(child), path + "/" + key)));
    return found;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> map(@Nullable Object value) {
    return value == null ? Map.of() : (Map<String, Object>) value;
  }

  static Map<String, Object> tree(String file) throws IOException {
    return map(Serialization.unmarshal(Files.readString(Chart.FOLDER.resolve(file)), Map.class));
  }
}
