package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Standing;
import dev.tranche.extender.verb.Preempt.OfNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class ExtenderReaderTest {
  private final ExtenderReader reader = new ExtenderReader(List.of(Names.RESOURCE));

  @Test
  void args_ofAFractionPod() throws Exception {
    var args = reader.args(fixture("filter-args.json"));
    assertThat(args.nodeNames()).containsExactly("node-a", "node-b");
    PodFacts pod = args.pod().orElseThrow();
    assertThat(pod.key()).isEqualTo("team-a/trainer");
    assertThat(pod.uid()).isEqualTo("11111111-2222-3333-4444-555555555555");
    assertThat(pod.stampedReplicas()).hasValue(10);
    assertThat(pod.annotations()).hasSize(2).containsEntry(Names.GPU_FRACTION, "0.3");
    assertThat(pod.requests())
        .containsExactly(
            new Demand.Request("main", Demand.Kind.APP, 3),
            new Demand.Request("logger", Demand.Kind.APP, 0));
    assertThat(pod.node()).isNull();
  }

  @Test
  void args_initContainersAndSidecars_comeFirst() throws Exception {
    PodFacts pod = reader.args(fixture("filter-args-init.json")).pod().orElseThrow();
    assertThat(pod.requests())
        .containsExactly(
            new Demand.Request("warm", Demand.Kind.INIT, 5),
            new Demand.Request("proxy", Demand.Kind.SIDECAR, 1),
            new Demand.Request("main", Demand.Kind.APP, 2_000));
  }

  @Test
  void args_notCacheCapable_haveNoNames() throws Exception {
    assertThat(reader.args(fixture("filter-args-not-cache-capable.json")).nodeNames()).isNull();
  }

  @Test
  void args_ofAPodWithoutGpus_haveNoPod() throws Exception {
    var other = new ExtenderReader(List.of("example.com/other"));
    assertThat(other.args(fixture("filter-args.json")).pod()).isEmpty();
  }

  @Test
  void args_malformed_isSaid() {
    byte[] cut = "{\"Pod\": {\"metadata\"".getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> reader.args(cut)).isInstanceOf(MalformedException.class);
  }

  @Test
  void preemption_isRead() throws Exception {
    var args = reader.preemption(fixture("preempt-args.json"));
    PodFacts pod = args.pod().orElseThrow();
    assertThat(pod.standing())
        .isEqualTo(
            new Standing(
                1_000_000,
                Map.of("app", "urgent"),
                Instant.parse("2026-11-21T08:00:00Z").toEpochMilli(),
                false,
                "node-b"));
    assertThat(args.victims())
        .containsEntry("node-b", new OfNode(List.of("bbbbbbbb-0000-0000-0000-000000000001"), 0))
        .hasSize(2);
    assertThat(Objects.requireNonNull(args.victims()).get("node-a"))
        .satisfies(victims -> assertThat(victims.uids()).hasSize(2))
        .satisfies(victims -> assertThat(victims.violations()).isOne());
  }

  @Test
  void preemption_notCacheCapable_hasNoVictims() throws Exception {
    byte[] json =
        "{\"Pod\":null,\"NodeNameToVictims\":{\"n\":{\"Pods\":[]}},\"NodeNameToMetaVictims\":null}"
            .getBytes(StandardCharsets.UTF_8);
    assertThat(reader.preemption(json).victims()).isNull();
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

  @Test
  void binding_isRead() throws Exception {
    var binding = reader.binding(fixture("binding-args.json"));
    assertThat(binding.key()).isEqualTo("team-a/trainer");
    assertThat(binding.node()).isEqualTo("node-b");
  }

  @Test
  void binding_withoutANode_isRefused() {
    byte[] json =
        "{\"PodName\":\"p\",\"PodNamespace\":\"n\",\"PodUID\":\"u\"}"
            .getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> reader.binding(json)).hasMessageContaining("Node");
  }

  private static byte[] fixture(String name) throws IOException {
    try (InputStream in = ExtenderReaderTest.class.getResourceAsStream("/extender-v1/" + name)) {
      return Objects.requireNonNull(in, name).readAllBytes();
    }
  }
}
