package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.History;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.row.WasteList;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is answered of a small cluster is what the document describes. */
final class OpenApiTest {
  private static final ListQuery ALL = new ListQuery(Map.of(), 100, "");

  private static final Pattern TYPE =
      Pattern.compile("export type (\\w+) = (?:(\\w+) & )?Readonly<\\{(.*?)\\}>;");
  private static final Pattern FIELD = Pattern.compile("(\\w+\\??): [^;]+");

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);

  @BeforeEach
  void fill() {
    RenderingTest.fill(world);
    world.see(FakeWorld.pod("unasked", 2));
  }

  /** kube-scheduler prioritizes nothing where one node fits. */
  @Test
  void podThatFitOneNode_hasNoScore() {
    var only = FakeWorld.pod("only", 2);
    world.see(only);
    world.filter().filter(only, List.of("a"), false);
    JsonObject detail = json(world.explained("ns/only", Optional.empty()));
    OpenApi.assertIs("PodDetail", detail.encode());
    JsonObject fitted = detail.getJsonObject("decision").getJsonArray("fitted").getJsonObject(0);
    assertThat(fitted.getString("node")).isEqualTo("a");
    assertThat(fitted.containsKey("score")).isFalse();
  }

  private static JsonObject json(Record row) {
    return Json.buffer(row).toJsonObject();
  }

  private Snapshot snapshot() {
    return Snapshot.of(world.inspection());
  }

  @Test
  void gpus_areDescribed_andTellWhoHoldsThem() {
    Snapshot seen = snapshot();
    assertThat(seen.gpus).hasSize(3);
    for (var row : seen.gpus) {
      OpenApi.assertIs("Gpu", json(Gpu.of(row, View.ALL)).encode());
    }
    JsonObject gpu = json(Gpu.of(seen.gpus.getFirst(), View.ALL));
    assertThat(gpu.getJsonObject("granted"))
        .isEqualTo(new JsonObject().put("gpus", "300m").put("memory", "3Gi"));
    assertThat(gpu.getJsonObject("measured").getString("sm")).as("mean").isEqualTo("250m");
    assertThat(gpu.getJsonObject("measured").getString("smLast")).isEqualTo("900m");
    JsonObject holder = gpu.getJsonArray("holders").getJsonObject(0);
    assertThat(holder.getString("name")).isEqualTo("held");
    assertThat(holder.getString("sm")).isEqualTo("200m");
    assertThat(holder.getString("memory")).isEqualTo("2Gi");
  }

  @Test
  void gpuWithoutAReading_saysNothingOfItsLoad() {
    Snapshot seen = snapshot();
    JsonObject gpu = json(Gpu.of(seen.gpus.get(1), View.ALL));
    assertThat(gpu.getString("uuid")).isEqualTo("a1");
    assertThat(gpu.containsKey("measured")).isFalse();
    assertThat(gpu.getJsonObject("effective").containsKey("sm")).isFalse();
  }

  @Test
  void pods_areDescribed_andWaitForAReason() {
    List<JsonObject> pods = snapshot().pods.stream().map(row -> json(reasons.pod(row))).toList();
    pods.forEach(pod -> OpenApi.assertIs("Pod", pod.encode()));
    assertThat(pods)
        .extracting(pod -> pod.getString("name") + " " + pod.getString("state"))
        .containsExactly("held Bound", "unasked Waiting", "waiting Waiting");
    assertThat(pods.get(0).getJsonObject("used"))
        .isEqualTo(new JsonObject().put("gpus", "200m").put("memory", "2Gi"));
    assertThat(pods.get(1).getJsonObject("waiting").getString("reason")).isEqualTo("NotFiltered");
    assertThat(pods.get(2).getJsonObject("waiting").getString("reason")).isEqualTo("Memory");
  }

  @Test
  void explanations_areDescribed_whateverBecameOfThePod() {
    for (String name : List.of("held", "waiting", "unasked")) {
      var message = Optional.of("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
      PodDetail explained = world.explained("ns/" + name, Optional.empty(), message, View.ALL);
      OpenApi.assertIs("PodDetail", json(explained).encode());
    }
  }

  @Test
  void summary_isDescribed_andCountsWhatIsThere() {
    JsonObject json = json(Summary.of(snapshot(), reasons, ALL));
    OpenApi.assertIs("Summary", json.encode());
    JsonObject cluster = json.getJsonObject("cluster");
    assertThat(cluster.getJsonObject("total"))
        .isEqualTo(new JsonObject().put("gpus", "3").put("memory", "30Gi"));
    assertThat(cluster.getJsonObject("granted").getString("gpus")).isEqualTo("300m");
    assertThat(cluster.getJsonObject("used").getString("gpus")).isEqualTo("1150m");
    assertThat(cluster.getJsonObject("used").getInteger("measuredGpus")).isEqualTo(2);
    assertThat(json.getJsonObject("waitingPods").getInteger("total")).isEqualTo(2);
    assertThat(json.getJsonArray("nodes")).hasSize(2);
    assertThat(json.getJsonArray("models")).hasSize(1);
  }

  /** What is held without a measurement is neither used nor unused. */
  @Test
  void waste_isDescribed_andBeginsWithTheLargest() {
    world.see(FakeWorld.pod("unmeasured", 5, "tranche.dev/gpu=a1").on("a"));
    JsonObject json = json(WasteList.of(snapshot(), null));
    OpenApi.assertIs("WasteList", json.encode());
    assertThat(json.getString("held")).isEqualTo("800m");
    assertThat(json.getString("unused")).isEqualTo("100m");
    assertThat(json.getJsonArray("items")).hasSize(1);
    assertThat(WasteList.of(snapshot(), "other").items()).isEmpty();
    assertThat(Output.TABLE.of(WasteList.of(snapshot(), "ns"), Instant.now()))
        .containsPattern("ns +held +a +0 +0.3 +0.1 +3.0Gi +2.0Gi +<none>\n")
        .endsWith("# 0.1 of 0.8 GPUs that pods hold are not used\n");
  }

  @Test
  void history_isDescribed_withGapsWhereNothingWasMeasured() {
    var history = new GpuHistory(1 << 20);
    history.add(Histories.samples(world.inspection()), 0);
    world.report(
        "a",
        new FakeWorld.Gpu("a0", 0.5, FakeWorld.GIB),
        new FakeWorld.Gpu("a1", 0.7, FakeWorld.GIB));
    history.add(Histories.samples(world.inspection()), 60_000);
    Instant now = Instant.parse("2026-11-23T20:00:00Z");
    var found = history.find("a", uuid -> true, 100_000).orElseThrow();
    JsonObject node = json(History.of("a", found, now, 100_000));
    OpenApi.assertIs("History", node.encode());
    assertThat(node.getJsonArray("times").getList())
        .isEqualTo(List.of("2026-11-23T19:58:50Z", "2026-11-23T19:59:50Z"));
    assertThat(node.getJsonArray("gpus").getJsonObject(1).encode())
        .isEqualTo(
            "{\"uuid\":\"a1\",\"index\":1,\"sm\":[null,0.7],\"smMax\":[null,0.7],"
                + "\"memory\":[null,1073741824],\"granted\":[0.0,0.0]}");
    var one = history.find("a", "a0"::equals, 100_000).orElseThrow();
    JsonObject gpu = json(History.of("a", one, now, 100_000));
    OpenApi.assertIs("History", gpu.encode());
    assertThat(gpu.getJsonArray("gpus")).hasSize(1);
  }

  @Test
  void answersThatDiffer_areNotDescribed() {
    assertThatThrownBy(() -> OpenApi.assertIs("Amount", "{\"gpus\":\"1.5\",\"memory\":\"1Gi\"}"))
        .isInstanceOf(AssertionError.class);
    assertThatThrownBy(() -> OpenApi.assertIs("Amount", "{\"gpus\":\"1\"}"))
        .isInstanceOf(AssertionError.class);
    assertThatThrownBy(
            () -> OpenApi.assertIs("Amount", "{\"gpus\":\"1\",\"memory\":\"1\",\"bytes\":1}"))
        .isInstanceOf(AssertionError.class);
  }

  @Test
  void document_isOfVersion31_andHasEveryRoute() {
    var document = OpenApi.document();
    assertThat(document.get("openapi").asText()).startsWith("3.1");
    document
        .get("paths")
        .fieldNames()
        .forEachRemaining(
            path ->
                assertThat(Route.of(path.replace("{", "").replace("}", ""))).as(path).isPresent());
    assertThat(document.get("paths")).hasSize(10 + 6);
  }

  /** A field that an answer may lack has a question mark in the page's type, and no other has. */
  @Test
  void typesOfThePage_haveTheFieldsOfTheDocument() throws IOException {
    JsonNode schemas = OpenApi.document().at("/components/schemas");
    String types =
        Files.readString(Path.of("readapi/src/main/web/src/types.ts")).replaceAll("\\s+", " ");
    List<MatchResult> found = TYPE.matcher(types).results().toList();
    var fields = new TreeMap<String, List<String>>();
    found.forEach(
        type ->
            fields.put(
                type.group(1),
                FIELD.matcher(type.group(3)).results().map(field -> field.group(1)).toList()));
    for (MatchResult type : found) {
      JsonNode schema = schemas.path(type.group(1));
      var required = new TreeSet<String>();
      schema.path("required").forEach(name -> required.add(name.asText()));
      var declared = new TreeSet<String>();
      schema
          .path("properties")
          .fieldNames()
          .forEachRemaining(name -> declared.add(required.contains(name) ? name : name + "?"));
      List<String> inherited = type.group(2) == null ? List.of() : fields.get(type.group(2));
      assertThat(Stream.concat(fields.get(type.group(1)).stream(), inherited.stream()))
          .as(type.group(1))
          .containsExactlyInAnyOrderElementsOf(declared);
    }
    assertThat(fields.keySet()).contains("Gpu", "Pod", "PodDetail", "History", "ClusterSummary");
  }
}
