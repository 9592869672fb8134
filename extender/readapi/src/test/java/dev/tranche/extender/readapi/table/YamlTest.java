package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class YamlTest {
  private static final JsonObject ANSWER =
      new JsonObject()
          .put("time", "2026-11-23T19:56:01.966Z")
          .put("none", new JsonArray())
          .put("empty", new JsonObject())
          .put("null", null)
          .put("healthy", "no")
          .put("gpus", "1")
          .put("index", 1)
          .put("model", "Tesla T4: \"fast\" # not")
          .put("nested", new JsonObject().put("fresh", true).put("names", new JsonArray().add("a")))
          .put(
              "items",
              new JsonArray()
                  .add(new JsonObject().put("node", "a").put("in", new JsonObject().put("x", 0.5)))
                  .add(new JsonObject())
                  .add(new JsonArray().add(1)));

  @Test
  void yaml_isReadAsTheSameValues() {
    Map<?, ?> read = Serialization.unmarshal(Yaml.of(tree(ANSWER)), Map.class);
    assertThat(new JsonObject(Serialization.asJson(read)))
        .isEqualTo(new JsonObject(ANSWER.encode()));
  }

  @Test
  void yaml_isInBlocks() {
    assertThat(Yaml.of(tree(ANSWER)))
        .contains("nested:\n  fresh: true\n  names:\n  - a\nitems:\n- node: a\n");
  }

  @Test
  void textOfOthers_cannotDriveATerminal() {
    String yaml =
        Yaml.of(tree(new JsonObject().put("model", "\u009b2J\u001b[2J\u202e\ncontinue: x")));
    assertThat(yaml).isEqualTo("model: \"\\u009b2J\\u001B[2J\\u202e\\ncontinue: x\"\n");
  }

  private static JsonNode tree(JsonObject json) {
    return Serialization.unmarshal(json.encode(), JsonNode.class);
  }
}
