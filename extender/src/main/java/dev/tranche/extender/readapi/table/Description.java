package dev.tranche.extender.readapi.table;

import dev.tranche.api.Printable;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Describes one pod in the style of {@code kubectl describe}: where it is and why, why it waits, or
 * where it would go.
 */
final class Description {
  private static final int LABEL_CHARS = 14;

  /** Rows of GPUs that are shown without {@code -o wide}. */
  private static final int GPUS_MAX = 10;

  private final StringBuilder text = new StringBuilder();
  private final boolean wide;
  private final Instant now;

  private Description(boolean wide, Instant now) {
    this.wide = wide;
    this.now = now;
  }

  static String of(JsonObject pod, boolean wide, Instant now) {
    var description = new Description(wide, now);
    description.head(pod);
    JsonObject decision = pod.getJsonObject("decision");
    if (decision != null) {
      description.decision(decision);
    }
    JsonObject scheduler = pod.getJsonObject("kubeScheduler");
    if (scheduler != null) {
      description.line("Scheduler", Cells.text(scheduler, "message"));
      scheduler
          .getJsonArray("whatToDo")
          .forEach(each -> description.line("What to do", each.toString()));
    }
    return description.text.toString();
  }

  static String ofWhatIf(JsonObject answer, boolean wide, Instant now) {
    var description = new Description(wide, now);
    description.whatIfHead(answer);
    description.nodes(answer);
    return description.text.toString();
  }

  /** Writes the answer to a what-if request. Scripts read its first line. */
  private void whatIfHead(JsonObject answer) {
    boolean fits = answer.getBoolean("fits");
    JsonObject count = answer.getJsonObject("count");
    line("Fits", count == null ? fits ? "yes" : "no" : counted(count));
    line("Namespace", Cells.text(answer, "namespace"));
    line("Resource", Cells.text(answer, "resource"));
    line("Policy", Cells.text(answer, "policy"));
    line("Node", Cells.text(answer, "node"));
    line("GPUs", gpus(answer));
    waiting(answer);
    if (count != null) {
      for (JsonObject node : Cells.objects(count, "nodes")) {
        line("", Cells.text(node, "pods") + " on " + Cells.text(node, "node"));
      }
    }
  }

  private static String counted(JsonObject count) {
    return "%s of %s%s"
        .formatted(
            Cells.text(count, "fit"),
            Cells.text(count, "asked"),
            count.getBoolean("complete") ? "" : ", and perhaps more: the time was up");
  }

  private void waiting(JsonObject pod) {
    JsonObject waiting = pod.getJsonObject("waiting");
    if (waiting != null) {
      line("Waits because", waiting.getString("reason") + ": " + waiting.getString("message"));
    }
  }

  private static String gpus(JsonObject pod) {
    return Cells.objects(pod, "gpus").stream()
        .map(
            gpu ->
                "%s (%s): %s of %s replicas"
                    .formatted(
                        Cells.text(gpu, "index"),
                        Cells.text(gpu, "uuid"),
                        Cells.text(gpu, "replicas"),
                        Cells.text(gpu, "replicasPerGpu")))
        .collect(Collectors.joining(", "));
  }

  private void head(JsonObject pod) {
    line("Name", Cells.text(pod, "name"));
    line("Namespace", Cells.text(pod, "namespace"));
    String stage = Cells.text(pod, "stage");
    line("State", Cells.text(pod, "state") + (stage.isEmpty() ? "" : " (" + stage + ")"));
    line("Resource", Cells.text(pod, "resource"));
    if (wide) {
      line("UID", Cells.text(pod, "uid"));
    }
    line("Node", Cells.text(pod, "node"));
    line("GPUs", gpus(pod));
    amount("Granted", pod.getJsonObject("granted"));
    amount("Used", pod.getJsonObject("used"));
    waiting(pod);
    for (Map.Entry<String, Object> annotation : pod.getJsonObject("annotations")) {
      line("Annotation", annotation.getKey() + "=" + annotation.getValue());
    }
  }

  private void amount(String label, @Nullable JsonObject amount) {
    if (amount != null) {
      line(
          label,
          "%s GPUs, %s of memory"
              .formatted(Cells.gpus(amount, "gpus"), Cells.memory(amount, "memory")));
    }
  }

  private void decision(JsonObject decision) {
    String time = Cells.text(decision, "time");
    line(
        "Decided",
        "by policy "
            + decision.getString("policy")
            + (time.isEmpty() ? "" : ", %s ago".formatted(Cells.age(time, now))));
    line("Note", Cells.text(decision, "note"));
    JsonObject smaller = decision.getJsonObject("smallerShare");
    if (smaller != null) {
      line(
          "Smaller share",
          "%s of %s replicas would fit now, such as on %s"
              .formatted(
                  Cells.text(smaller, "replicas"),
                  Cells.text(smaller, "replicasPerGpu"),
                  Cells.text(smaller, "node")));
    }
    JsonObject chosen = decision.getJsonObject("chosen");
    if (chosen != null) {
      line("Chosen", Cells.text(chosen, "node"));
    }
    nodes(decision);
  }

  private void nodes(JsonObject decision) {
    line("Fitting", Cells.text(decision, "fittedCount") + " nodes");
    line("Does not fit", Cells.text(decision, "refusedCount") + " nodes");
    reasons(decision, "refusedByReason");
    String excluded = Cells.text(decision, "excludedCount");
    if (!excluded.isEmpty()) {
      line("Excluded", excluded + " nodes, by the pod's selectors and tolerations");
    }
    reasons(decision, "excludedByReason");
    gpus("fits", Cells.objects(decision, "fitted"));
    gpus("nearest", Cells.objects(decision, "refused"));
  }

  private void reasons(JsonObject decision, String field) {
    for (JsonObject reason : Cells.objects(decision, field)) {
      line("", Cells.text(reason, "nodes") + " × " + Cells.text(reason, "message"));
    }
  }

  private void gpus(String verdict, List<JsonObject> nodes) {
    var table =
        new TextTable(List.of("NODE", "SCORE", "GPU", "FREE", "SM%", "MEMORY-FREE", "GPU SAYS"));
    int rows = 0;
    int left = 0;
    for (JsonObject node : nodes) {
      for (JsonObject gpu : Cells.objects(node, "gpus")) {
        if (rows == GPUS_MAX && !wide) {
          left++;
          continue;
        }
        rows++;
        table.add(
            List.of(
                Cells.text(node, "node"),
                Cells.text(node, "score"),
                Cells.text(gpu, "index"),
                Cells.text(gpu, "freeReplicas") + "/" + Cells.text(gpu, "replicas"),
                Cells.percent(gpu, "effective", "sm"),
                Cells.memory(gpu, "effective", "memoryFree"),
                Cells.text(gpu, "message")));
      }
    }
    if (rows > 0) {
      text.append("\nNodes, ").append(verdict).append(":\n").append(table.text());
      if (left > 0) {
        text.append("and %d more GPUs: -o wide shows them\n".formatted(left));
      }
    }
  }

  /** Writes a labelled line, or nothing if the value is empty. */
  private void line(String label, String value) {
    if (!value.isEmpty()) {
      String shown = label.isEmpty() ? "" : label + ":";
      text.append(shown)
          .repeat(' ', Math.max(1, LABEL_CHARS + 1 - shown.length()))
          .append(Printable.message(value))
          .append('\n');
    }
  }
}
