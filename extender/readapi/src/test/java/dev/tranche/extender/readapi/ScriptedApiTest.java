package dev.tranche.extender.readapi;

import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the page is tested with is what the document describes. */
class ScriptedApiTest {
  @Test
  void scripts_areDescribed() {
    JsonObject held = ScriptedApi.held(ScriptedApi.gpu("a", 0, 40), "ns", "held");
    List<JsonObject> pods =
        List.of(
            ScriptedApi.bound("ns", "held", "200m"),
            ScriptedApi.waiting("ns", "waiting", "no GPU has that much memory", "wait"));
    OpenApi.assertIs(
        "Change", ScriptedApi.snapshot(List.of(held, ScriptedApi.gpu("a", 1, -1)), pods).encode());
    OpenApi.assertIs("History", ScriptedApi.history("GPU-a-0", 40, -1).encode());
  }
}
