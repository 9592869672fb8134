package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ExtenderReaderTest {
  private static final String RELEASES = "dev.tranche.extender.http.Recorded#releases";
  private final ExtenderReader reader = new ExtenderReader(List.of(Names.RESOURCE));

  @ParameterizedTest
  @MethodSource(RELEASES)
  void args_ofAFractionPod(Recorded release) throws Exception {
    var args = reader.args(release.body("filter"));
    assertThat(args.nodeNames()).containsExactlyInAnyOrder("node-a", "node-b", "node-c");
    assertThat(args.hasNodePreferences()).isFalse();
    assertThat(args.host()).isEqualTo(new HostRequest(500, 1_024));
    PodFacts pod = args.pod().orElseThrow();
    assertThat(pod.key()).isEqualTo("team-a/trainer");
    assertThat(pod.uid()).isEqualTo(release.uid("filter"));
    assertThat(pod.stampedReplicas()).hasValue(10);
    assertThat(pod.annotations()).hasSize(2).containsEntry(Names.GPU_FRACTION, "0.3");
    assertThat(pod.requests()).containsExactly(new Demand.Request("main", Demand.Kind.APP, 3));
    assertThat(pod.node()).isNull();
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void args_ofPrioritize_areThoseOfFilter(Recorded release) throws Exception {
    var args = reader.args(release.body("prioritize"));
    assertThat(args.pod()).isEqualTo(reader.args(release.body("filter")).pod());
    assertThat(args.nodeNames()).hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'Pod':%s,'Nodes':null,'NodeNames':['node-1','node-2']}\n",
        "{'Pod':%s,'Nodes':null,'NodeNames':['node-1', 'node-2']}",
        "{'Pod':%s,'NodeNames':['node-1','node\\u002d2']}",
        "{'NodeNames':['node-1','node-2'],'Pod':%s}",
        "{'NodeNames':['other'],'Pod':%s,'NodeNames':['node-1','node-2']}",
        "{'Pod':%s,'NodeNames':['node-1','node-2'] , 'More': [1]}",
        "\ufeff{'Pod':%s,'NodeNames':['node-1','node-2']}"
      })
  void args_namesInAnyJson_areTheSame(String request) throws Exception {
    String pod =
        """
        {'metadata':{'name':'p','uid':'u'},'spec':{'containers':[
          {'name':'a','resources':{'limits':{'nvidia.com/gpu':'2'}}}]}}\
        """;
    var args =
        reader.args(request.formatted(pod).replace('\'', '"').getBytes(StandardCharsets.UTF_8));
    assertThat(args.nodeNames()).containsExactly("node-1", "node-2");
    assertThat(args.pod()).isPresent();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'NodeNames':['a','b'",
        "{'NodeNames':['a','b']",
        "{'NodeNames':['a','b',]}",
        "{'NodeNames':['a' 'b']}",
        "{'NodeNames':['a','b]}"
      })
  void args_namesCutShort_areRefused(String request) {
    assertThatThrownBy(
            () -> reader.args(request.replace('\'', '"').getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(MalformedException.class);
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void args_initContainersAndSidecars_comeFirst(Recorded release) throws Exception {
    var args = reader.args(release.body("filter-init"));
    assertThat(args.hasNodePreferences()).isTrue();
    assertThat(args.pod().orElseThrow().requests())
        .containsExactly(
            new Demand.Request("warm", Demand.Kind.INIT, 5),
            new Demand.Request("proxy", Demand.Kind.SIDECAR, 1),
            new Demand.Request("main", Demand.Kind.APP, 2));
  }

  /** The API server writes it so, and Go an empty thing as null. */
  @Test
  void args_wholeThousandsAndNulls_areRead() throws Exception {
    byte[] json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": null}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2k"}}}]}, "status": {}}, "Nodes": null, "NodeNames": []}
        """
            .getBytes(StandardCharsets.UTF_8);
    assertThat(reader.args(json).pod().orElseThrow().requests())
        .containsExactly(new Demand.Request("a", Demand.Kind.APP, 2_000));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void args_notCacheCapable_haveNoNames(Recorded release) throws Exception {
    assertThat(reader.args(release.body("filter-node-list")).nodeNames()).isNull();
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void args_ofAPodWithoutGpus_haveNoPod(Recorded release) throws Exception {
    var other = new ExtenderReader(List.of("example.com/other"));
    assertThat(other.args(release.body("filter")).pod()).isEmpty();
  }

  @Test
  void args_ofAPodWithoutUid_areRefused_unlessItAsksForNothing() throws Exception {
    String json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"%s": "1"}}}]}}, "NodeNames": ["a"]}
        """;
    byte[] asking = json.formatted(Names.RESOURCE).getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> reader.args(asking))
        .isInstanceOf(MalformedException.class)
        .hasMessageContaining("n/p has no metadata.uid");
    assertThat(reader.args(json.formatted("cpu").getBytes(StandardCharsets.UTF_8)).pod()).isEmpty();
  }

  @Test
  void args_malformed_isSaid() {
    byte[] cut = "{\"Pod\": {\"metadata\"".getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> reader.args(cut)).isInstanceOf(MalformedException.class);
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void preemption_isRead(Recorded release) throws Exception {
    var args = reader.args(release.body("preempt"));
    PodFacts pod = args.pod().orElseThrow();
    assertThat(pod.uid()).isEqualTo(release.uid("preempt"));
    assertThat(pod.preemption().priority()).isEqualTo(1_000_000);
    assertThat(pod.preemption().labels()).isEqualTo(PodLabels.NONE);
    assertThat(pod.preemption().startedAtMs()).isPositive();
    Map<String, VictimUids> victims = Objects.requireNonNull(args.victims());
    assertThat(victims).containsOnlyKeys("node-a", "node-b", "node-c");
    assertThat(victims.values().stream().flatMap(of -> of.uids().stream()))
        .hasSize(5)
        .doesNotHaveDuplicates()
        .doesNotContain("");
    assertThat(Objects.requireNonNull(victims.get("node-a")).violations()).isOne();
    assertThat(Objects.requireNonNull(victims.get("node-b")).violations()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"UID\": \"\"}", "{\"UID\": null}", "null"})
  void preemption_ofAVictimWithoutUid_isRefused(String victim) {
    String json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}},
         "NodeNameToMetaVictims": {"node-a": {"Pods": [{"UID": "v"}, %s]}}}
        """;
    byte[] body = json.formatted(victim).getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> reader.args(body)).isInstanceOf(MalformedException.class);
  }

  @Test
  void preemption_nominatedAndLeaving_areRead() throws Exception {
    byte[] json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u", "creationTimestamp": "2026-11-21T08:00:00Z",
          "deletionTimestamp": "2026-11-21T09:00:00Z", "labels": {"app": "urgent"}}, "spec": {"priority": -1, "containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}, "status": {"nominatedNodeName": "node-b"}}}
        """
            .getBytes(StandardCharsets.UTF_8);
    assertThat(reader.args(json).pod().orElseThrow().preemption())
        .isEqualTo(
            new PreemptionInfo(
                -1,
                PodLabels.NONE,
                Instant.parse("2026-11-21T08:00:00Z").toEpochMilli(),
                true,
                true,
                "node-b",
                Instant.parse("2026-11-21T09:00:00Z").toEpochMilli(),
                NodeNeeds.NONE));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "false; \"tolerations\": []",
        "false; \"volumes\": [{\"name\": \"t\", \"projected\": {}}, {\"name\": \"e\", \"emptyDir\":"
            + " {}}]",
        "true; \"volumes\": [{\"name\": \"d\", \"persistentVolumeClaim\": {\"claimName\": \"d\"}}]",
        "true; \"resourceClaims\": [{\"name\": \"c\"}]",
        "true; \"resources\": {\"requests\": {\"cpu\": \"1\"}}",
        "true; \"topologySpreadConstraints\": [{\"maxSkew\": 1}]",
        "true; \"affinity\": {\"podAntiAffinity\":"
            + " {\"requiredDuringSchedulingIgnoredDuringExecution\": [{}]}}",
        "true; \"affinity\": {\"podAffinity\": {\"requiredDuringSchedulingIgnoredDuringExecution\":"
            + " [{}]}}",
        "false; \"affinity\": {\"nodeAffinity\":"
            + " {\"requiredDuringSchedulingIgnoredDuringExecution\": {}}}",
        "false; \"affinity\": {\"podAffinity\":"
            + " {\"preferredDuringSchedulingIgnoredDuringExecution\": [{}]}}",
        "true; \"initContainers\": [{\"name\": \"i\", \"ports\": [{\"hostPort\": 80}]}]",
        "false; \"initContainers\": [{\"name\": \"i\", \"ports\": [{\"containerPort\": 80}]}]",
        "true; \"initContainers\": [{\"name\": \"i\", \"resources\": {\"requests\":"
            + " {\"hugepages-2Mi\": \"2Mi\"}}}]",
      })
  void needs_sayWhetherMoreThanSumsCounts(boolean constrained, String field) throws Exception {
    String json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1",
            "cpu": "1500m", "memory": "2Ki", "ephemeral-storage": "1Gi"}}}], FIELD}}}
        """;
    byte[] body = json.replace("FIELD", field).getBytes(StandardCharsets.UTF_8);
    assertThat(reader.args(body).pod().orElseThrow().preemption().needs())
        .isEqualTo(new NodeNeeds(1_500, 2_048, 1L << 30, constrained));
  }

  @Test
  void needs_ofInitContainers_areThoseOfTheLargest_besideTheSidecars() throws Exception {
    String json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {
          "overhead": {"cpu": "50m", "memory": "1Mi"}, "initContainers": [
          {"name": "i", "resources": {"requests": {"cpu": "500m"}}},
          {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m", "memory": "10Mi"}}},
          {"name": "j", "resources": {"requests": {"cpu": "900m", "memory": "5Mi"}}}], "containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1",
            "cpu": "200m", "memory": "20Mi"}}},
          {"name": "b", "resources": {"requests": {"cpu": "300m", "memory": "20Mi"}}}]}}}
        """;
    byte[] body = json.getBytes(StandardCharsets.UTF_8);
    assertThat(reader.args(body).pod().orElseThrow().preemption().needs())
        .isEqualTo(new NodeNeeds(1_050, 51 << 20, 0, false));
  }

  /** kube-scheduler counts the larger of what a pod requests and what it still has. */
  @ParameterizedTest
  @CsvSource({"Ready, false", "PodResizePending, true", "PodResizeInProgress, true"})
  void needs_ofAPodThatIsBeingResized_areNotItsRequests(String condition, boolean constrained)
      throws Exception {
    String json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1",
            "cpu": "1500m", "memory": "2Ki"}}}]}, "status": {"conditions": [{"type": "%s"}]}}}
        """;
    byte[] body = json.formatted(condition).getBytes(StandardCharsets.UTF_8);
    assertThat(reader.args(body).pod().orElseThrow().preemption().needs())
        .isEqualTo(new NodeNeeds(1_500, 2_048, 0, constrained));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void preemption_notCacheCapable_hasNoVictims(Recorded release) throws Exception {
    assertThat(reader.args(release.body("preempt-node-list")).victims()).isNull();
  }

  @Test
  void args_ofTwoResources_nameBothAndFitNone() throws Exception {
    var both = new ExtenderReader(List.of(Names.RESOURCE, "nvidia.com/gpu.shared"));
    byte[] json =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpu.shared": "2"}}}]}},
         "NodeNames": []}
        """
            .getBytes(StandardCharsets.UTF_8);
    PodFacts pod = both.args(json).pod().orElseThrow();
    assertThat(pod.resource()).isEqualTo("nvidia.com/gpu and nvidia.com/gpu.shared");
    assertThat(pod.requests()).containsExactly(new Demand.Request("a", Demand.Kind.APP, 3));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void binding_isRead(Recorded release) throws Exception {
    var binding = reader.binding(release.body("bind"));
    assertThat(binding.key()).isEqualTo("team-a/trainer");
    assertThat(binding.podUid()).isEqualTo(release.uid("filter"));
    assertThat(binding.node()).startsWith("node-");
  }

  /** One minor release each: a folder that is lost would pass unnoticed. */
  @Test
  void releases_areThoseThatAreSupported() {
    assertThat(Recorded.releases())
        .extracting(release -> release.toString().replaceAll("\\.\\d+$", ""))
        .containsExactly("v1.32", "v1.33", "v1.34");
  }
}
