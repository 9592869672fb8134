package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the chart renders, held against the schemas of the API and of others' resources. */
@Tag("slow")
class KubeconformIT {
  private static final String KARPENTER =
      "--set autoscaling.karpenter.enabled=true,autoscaling.karpenter.nodeClass.clusterName=mine"
          + " --set-json 'autoscaling.instanceTypes={\"g5.xlarge\": 1, \"g5.12xlarge\": 4,"
          + " \"p4d.24xlarge\": {\"nvidia.com/mig-1g.5gb\": 56}}'"
          + " --set-json 'autoscaling.taints=[{\"key\": \"nvidia.com/gpu\", \"effect\":"
          + " \"NoSchedule\"}]'"
          + " --set autoscaling.clusterAutoscaler.enabled=true"
          + " --set autoscaling.karpenter.nodePool.limits.cpu=32,autoscaling.karpenter.nodePool.limits.memory=128Gi";
  private static final String MONITORING =
      "--set monitoring.serviceMonitor.enabled=true,monitoring.podMonitor.enabled=true,monitoring.prometheusRule.enabled=true,monitoring.labels.release=p";
  private static final String DASHBOARDS =
      "--set grafanaDashboards.enabled=true,grafanaDashboards.namespace=monitoring,grafanaDashboards.annotations.grafana_folder=GPUs";
  private static final String MPS =
      "--set-json 'config.map={\"any\": \"{version: v1, sharing: {mps: {resources: [{name:"
          + " nvidia.com/gpu, replicas: 10}]}}}\"}'";
  private static final String EVERYTHING =
      KARPENTER
          + " "
          + MONITORING
          + " "
          + MPS
          + " "
          + DASHBOARDS
          + " --set extender.api.aggregated.enabled=true --set networkPolicies.enabled=true,webhook.certManager.enabled=true,runtimeClass.create=true,criticalPodsQuota.enabled=true,extender.api.historyMemory=0"
          + " --api-versions admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";

  static final Iterable<Rendering> RENDERINGS = Rendering.ALL;

  @TempDir static Path folder;
  private static Path kubeconform;
  private static String schemas;

  @BeforeAll
  static void makeSchemas() throws Exception {
    String printed = Shell.output("../.build/kubeconform.sh").strip();
    kubeconform = Path.of(printed, "kubeconform");
    schemas = ApiSchemas.write(Path.of(printed), folder.resolve("schemas"));
  }

  @ParameterizedTest
  @FieldSource("RENDERINGS")
  void plainYaml_conforms(Rendering rendering) throws Exception {
    conforms(rendering.render(Chart.FOLDER));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--set extender.mode=service,networkPolicies.enabled=true,networkPolicies.schedulerCidrs[0]=10.0.0.0/24",
        "--set networkPolicies.enabled=true,networkPolicies.metricsCidrs[0]=10.0.0.0/8",
        "--set webhook.certManager.enabled=true",
        "--set webhook.certManager.enabled=true,webhook.certManager.issuerRef.name=ca,webhook.certManager.issuerRef.kind=ClusterIssuer",
        "--set runtimeClass.create=true,guard.mode=deny,extender.policy=packed,extender.metricsNodePort=31234,extender.gpuMetrics=false,extender.nodeUseAnnotation=false",
        "--set guard.enabled=false,webhook.admissionPolicies=false,cleanup.enabled=false",
        "--set nodePlugin.usagePerPod=false,deviceListStrategy=cdi-cri,runtimeClassName=nvidia",
        "--set config.name=theirs,nodeSelector.gpus=true,tolerations=null",
        "--set webhook.enabled=false,extender.enabled=false,monitoring.podMonitor.enabled=true",
        "--set extender.enabled=false",
        "--set extender.api.enabled=false,networkPolicies.enabled=true",
        "--set networkPolicies.enabled=true,networkPolicies.apiCidrs[0]=10.0.0.0/8",
        "--set extender.api.aggregated.enabled=true,extender.mode=service",
        "--set nodePlugin.enabled=false,extender.enabled=false",
        "--set webhook.compat.kai=true,webhook.compat.hami=true,replicas=1",
        MPS,
        MONITORING,
        DASHBOARDS,
        KARPENTER,
        KARPENTER + " --set autoscaling.karpenter.nodePool.create=false",
        KARPENTER + " --set autoscaling.karpenter.nodeClass.spec.instanceProfile=gpu-nodes",
        EVERYTHING,
        "-f ../charts/tranche/values-production.yaml",
      })
  void valuesTogether_conform(String values) throws Exception {
    conforms(Chart.helmTemplate(values));
  }

  /** A check that passes everything would pass these. */
  @ParameterizedTest
  @CsvSource({
    "terminationGracePeriodSeconds, terminationGracePeriodSecond",
    "maxUnavailable: 1, maxUnavailable: [1]",
    "failurePolicy: Fail, failurePolicies: Fail",
    "matchConstraints, matchConstraint",
    "jsonPatch:, jsonPatches:",
    "podSelector, podsSelector",
    "startupTaints, startupTaint",
    "capacity:, capacities:",
    "amiSelectorTerms, amiSelectorTerm",
    "podMetricsEndpoints, podMetricEndpoints",
    "endpoints:, endpoint:",
    "alert:, alerts:",
    "secretName: tranche-issuing-ca, secretNames: tranche-issuing-ca",
    "selfSigned: {}, selfSign: {}",
    "kind: NodePool, kind: NodePole",
  })
  void misspeltField_isFound(String right, String wrong) throws Exception {
    String rendered = Chart.helmTemplate(EVERYTHING);
    assertThat(rendered).contains(right);
    var verdict = check(rendered.replace(right, wrong));
    assertThat(verdict.status()).as(verdict.output()).isNotZero();
  }

  @Test
  void everything_isOfEveryKindThatTheChartHas() throws Exception {
    // cert-manager makes the Secrets, or the chart does.
    String rendered = Chart.helmTemplate(EVERYTHING) + Chart.helmTemplate("");
    try (var templates = Files.walk(Chart.FOLDER.resolve("templates"))) {
      for (Path template : templates.filter(file -> file.toString().endsWith(".yaml")).toList()) {
        Files.readString(template)
            .lines()
            .filter(line -> line.matches("kind: [A-Za-z0-9]+"))
            .forEach(line -> assertThat(Arrays.asList(rendered.split("\n"))).contains(line));
      }
    }
  }

  private static void conforms(String yaml) throws Exception {
    check(yaml).orFail();
  }

  private static Shell.Result check(String yaml) throws IOException, InterruptedException {
    // Before 1.36 this kind was in beta, with the same fields.
    String served =
        KubernetesVersion.minorOfClusters() < 36
            ? yaml.replace(
                "admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy",
                "admissionregistration.k8s.io/v1beta1\nkind: MutatingAdmissionPolicy")
            : yaml;
    Path file = Files.writeString(folder.resolve("rendered.yaml"), served);
    return Shell.run("%s -strict -schema-location '%s' %s".formatted(kubeconform, schemas, file));
  }
}
