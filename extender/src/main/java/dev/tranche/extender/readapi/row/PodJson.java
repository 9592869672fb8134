package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.ListQuery.Field;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.readapi.row.WaitingReasons.Why;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A pod as lists show it. */
public final class PodJson {
  public static final List<Field> FIELDS =
      List.of(Field.text("namespace"), Field.text("node"), new Field("state", PodState.NAMES));

  private final WaitingReasons reasons;

  public PodJson(WaitingReasons reasons) {
    this.reasons = reasons;
  }

  public static boolean admitted(PodRow row, ListQuery query) {
    return query.admits("namespace", row.pod().namespace())
        && query.admits("node", node(row))
        && query.admits("state", row.state().toString());
  }

  private static @Nullable String node(PodRow row) {
    PodFacts pod = row.pod();
    return pod.node() != null ? pod.node() : row.hold().map(Hold::node).orElse(null);
  }

  public JsonObject of(PodRow row) {
    return of(row, why(row));
  }

  /** Why a pod waits; null where it does not. */
  public @Nullable Why why(PodRow row) {
    return row.state() == PodState.WAITING ? reasons.of(row.pod()) : null;
  }

  public static JsonObject of(PodRow row, @Nullable Why why) {
    PodFacts pod = row.pod();
    PodState state = row.state();
    var json =
        identity(row)
            .put("uid", pod.uid())
            .put("resource", pod.resource())
            .put("state", state.toString());
    String node = node(row);
    if (node != null) {
      json.put("node", node);
    }
    row.hold().ifPresent(hold -> placed(json, hold, row.gpus()));
    if (why != null) {
      json.put("waiting", why.json());
    }
    return putUsage(json, row);
  }

  /** Returns the fields by which readers identify a pod. */
  public static JsonObject identity(PodRow row) {
    return new JsonObject().put("namespace", row.pod().namespace()).put("name", row.pod().name());
  }

  /**
   * Returns whether two rows of one pod differ at most in what {@link #putUsage} writes. Why the
   * pod waits is not compared.
   */
  public static boolean sameExceptUsage(PodRow one, PodRow two) {
    return one.pod().equals(two.pod())
        && one.hold().equals(two.hold())
        && one.gpus().size() == two.gpus().size()
        && one.hold().map(hold -> sameGpus(one.gpus(), two.gpus(), hold)).orElse(true);
  }

  private static boolean sameGpus(List<GpuRow> one, List<GpuRow> two, Hold hold) {
    for (int i = 0; i < one.size(); i++) {
      Inspection.Gpu gpu = one.get(i).gpu();
      Inspection.Gpu other = two.get(i).gpu();
      if (!gpu.view().uuid().equals(other.view().uuid())
          || gpu.view().index() != other.view().index()
          || gpu.view().memoryUsableBytes() != other.view().memoryUsableBytes()
          || GpuJson.replicasPerGpu(gpu, hold) != GpuJson.replicasPerGpu(other, hold)) {
        return false;
      }
    }
    return true;
  }

  /** Writes the fields that change with each reading. */
  public static JsonObject putUsage(JsonObject json, PodRow row) {
    row.hold()
        .ifPresent(
            hold -> {
              var used = new Used(hold.key());
              row.gpus().forEach(used::add);
              used.put(json);
            });
    return json;
  }

  private static void placed(JsonObject json, Hold hold, List<GpuRow> gpus) {
    var array = new JsonArray();
    double granted = 0;
    long grantedBytes = 0;
    for (GpuRow row : gpus) {
      int replicas = GpuJson.replicas(row.gpu(), hold);
      int of = GpuJson.replicasPerGpu(row.gpu(), hold);
      granted += (double) replicas / of;
      grantedBytes += row.gpu().view().memoryUsableBytes() / of * replicas;
      array.add(
          new JsonObject()
              .put("uuid", row.gpu().view().uuid())
              .put("index", row.gpu().view().index())
              .put("replicas", replicas)
              .put("replicasPerGpu", of));
    }
    json.put("stage", HoldStages.name(hold)).put("gpus", array);
    // While the pod's GPUs are unknown, so is the size of its grant.
    if (hold.placement() != null) {
      json.put(
          "granted",
          new JsonObject()
              .put("gpus", Quantities.gpus(granted))
              .put("memory", Quantities.bytes(grantedBytes)));
    }
  }

  /** The measured use of one pod. Nothing is written if the node cannot tell pods apart. */
  private static final class Used {
    private final String pod;
    private @Nullable Double sm;
    private @Nullable Long memoryBytes;

    Used(String pod) {
      this.pod = pod;
    }

    void add(GpuRow row) {
      row.gpu()
          .reading()
          .ifPresent(
              reading -> {
                Double here = reading.smOf(pod);
                if (here != null && row.gpu().view().measured()) {
                  sm = here + (sm == null ? 0 : sm);
                }
                Long bytes = reading.memoryBytesOf(pod);
                if (bytes != null) {
                  memoryBytes = bytes + (memoryBytes == null ? 0 : memoryBytes);
                }
              });
    }

    void put(JsonObject json) {
      var used = new JsonObject();
      if (sm != null) {
        used.put("gpus", Quantities.gpus(sm));
      }
      if (memoryBytes != null) {
        used.put("memory", Quantities.bytes(memoryBytes));
      }
      if (!used.isEmpty()) {
        json.put("used", used);
      }
    }
  }
}
