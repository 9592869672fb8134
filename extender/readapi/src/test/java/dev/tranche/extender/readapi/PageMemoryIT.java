package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.CDPSession;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A page may be open for weeks, on a wall. */
final class PageMemoryIT extends PageFixture {
  private static final int GPUS = 1_200;
  private static final int CHANGES = 50;
  private static final int GROWTH_BYTES_MAX = 5 << 20;

  /** Each change is drawn once, and what is drawn remembers no picture before. */
  @Test
  void memory_staysTheSame_whileGpusChangeOneByOne() {
    List<JsonObject> gpus =
        IntStream.range(0, GPUS)
            .mapToObj(i -> ScriptedApi.gpu("node-" + i / 8, i % 8, 10))
            .toList();
    api.snapshot = ScriptedApi.snapshot(gpus, List.of());
    go("?group=model");
    assertThat(cells()).hasCount(GPUS);
    change(gpus.getFirst(), 20);
    CDPSession session = page.context().newCDPSession(page);
    double before = heapBytes(session);
    gpus.subList(0, CHANGES).forEach(gpu -> change(gpu, 30));
    assertThat(heapBytes(session) - before).isLessThan(GROWTH_BYTES_MAX);
  }

  /** Returns when it is drawn. */
  private void change(JsonObject gpu, int smPercent) {
    var row =
        new JsonObject()
            .put("node", gpu.getString("node"))
            .put("index", gpu.getInteger("index"))
            .put("uuid", gpu.getString("uuid"))
            .put("measured", ScriptedApi.measured(smPercent));
    api.change(new JsonObject().put("gpus", new JsonArray().add(row)));
    page.evaluate(
        """
        async ([key, text]) => {
          const cell = document.querySelector(`.cell[data-key="${key}"]`);
          while (!cell.ariaLabel.includes(text)) await new Promise(requestAnimationFrame);
        }\
        """,
        List.of(
            gpu.getString("node") + "/" + gpu.getString("uuid"), "load " + smPercent + "\u00a0%"));
  }

  private static double heapBytes(CDPSession session) {
    session.send("HeapProfiler.collectGarbage");
    return session.send("Runtime.getHeapUsage").get("usedSize").getAsDouble();
  }
}
