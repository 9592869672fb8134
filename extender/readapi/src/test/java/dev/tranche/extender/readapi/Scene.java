package dev.tranche.extender.readapi;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;

/** Makes a GPU's row with its pods, in tenths of the GPU. */
final class Scene {
  private static final int TENTHS = 10;

  private final JsonObject row;
  private final JsonArray holders = new JsonArray();
  private final int gib;
  private int held;
  private int usedGib;
  private int usable = TENTHS;

  private Scene(JsonObject row, int gib) {
    this.row = row;
    this.gib = gib;
  }

  /** Returns a GPU that is as busy as said; below 0: without a reading. */
  static Scene gpu(String node, int index, String model, int gib, int smPercent) {
    return new Scene(
        ScriptedApi.gpu(node, index, smPercent).put("model", model).put("memory", gib + "Gi"), gib);
  }

  Scene pod(String namespace, String name, int tenths, int smPercent, int itsGib) {
    return add(namespace, name, tenths, itsGib, smPercent * 10 + "m");
  }

  Scene idle(String namespace, String name, int tenths, int minutes) {
    add(namespace, name, tenths, 0, "0");
    Instant since = Instant.now().minusSeconds(minutes * 60L);
    holders.getJsonObject(holders.size() - 1).put("idleSince", since.toString());
    return this;
  }

  private Scene add(String namespace, String name, int tenths, int itsGib, String sm) {
    held += tenths;
    usedGib += itsGib;
    holders.add(
        new JsonObject()
            .put("namespace", namespace)
            .put("name", name)
            .put("uid", name)
            .put("replicas", tenths)
            .put("replicasPerGpu", TENTHS)
            .put("stage", "Confirmed")
            .put("sm", sm)
            .put("memory", itsGib + "Gi"));
    return this;
  }

  Scene nobodysGib(int more) {
    usedGib += more;
    row.put("overuse", more + ".0 GiB used by no pod").put("memoryOfNoPod", more + "Gi");
    return this;
  }

  /** What measured memory leaves of the free tenths. */
  Scene usable(int tenths) {
    usable = tenths;
    return this;
  }

  Scene health(String health) {
    row.put("health", health);
    return this;
  }

  JsonObject row() {
    if (row.containsKey("measured")) {
      row.getJsonObject("measured").put("memory", usedGib + "Gi");
    }
    var granted =
        new JsonObject()
            .put("gpus", held * 100 + "m")
            .put("memory", ((long) gib << 30) * held / TENTHS + "");
    boolean healthy = "Healthy".equals(row.getString("health"));
    return row.put("freeReplicas", TENTHS - held)
        .put("largestShareReplicas", healthy ? Math.min(usable, TENTHS - held) : 0)
        .put("granted", granted)
        .put("holders", holders)
        .put("holderCount", holders.size());
  }
}
