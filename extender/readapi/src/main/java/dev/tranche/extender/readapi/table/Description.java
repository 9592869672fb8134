package dev.tranche.extender.readapi.table;

import static dev.tranche.extender.readapi.table.Cells.text;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.NodesForPod.SmallerShare;
import dev.tranche.extender.explain.ShareText;
import dev.tranche.extender.readapi.row.Amount;
import dev.tranche.extender.readapi.row.Candidate;
import dev.tranche.extender.readapi.row.Candidate.CandidateGpu;
import dev.tranche.extender.readapi.row.CandidateNodes;
import dev.tranche.extender.readapi.row.Decision;
import dev.tranche.extender.readapi.row.GpuQuantity;
import dev.tranche.extender.readapi.row.GpuShare;
import dev.tranche.extender.readapi.row.MemoryQuantity;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.NodeCount;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.readapi.row.WhatIfAnswer.Counted;
import java.time.Instant;
import java.util.List;
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

  private static final List<String> GPU_HEADER =
      List.of("NODE", "SCORE", "GPU", "FREE", "USABLE", "SM%", "MEMORY-FREE", "GPU SAYS");

  private final StringBuilder text = new StringBuilder();
  private final boolean wide;
  private final Instant now;

  private Description(boolean wide, Instant now) {
    this.wide = wide;
    this.now = now;
  }

  static String of(PodDetail pod, boolean wide, Instant now) {
    var description = new Description(wide, now);
    description.head(pod);
    if (pod.decision() != null) {
      description.decision(pod.decision());
    }
    description.line("Scheduler", text(pod.schedulerMessage()));
    return description.text.toString();
  }

  static String of(NamespaceSummary summary) {
    var description = new Description(false, summary.time());
    description.line("Namespace", summary.namespace());
    description.line("Pods", text(summary.pods()));
    description.line("GPUs", text(summary.gpus()));
    if (summary.replicasPerGpu() != null) {
      description.line("Replicas", summary.replicasPerGpu() + " per GPU");
    }
    description.amount("Granted", summary.granted());
    description.amount("Others", summary.others());
    description.used(summary.used());
    description.line("Waiting", text(summary.waitingPods().total()));
    summary
        .waitingPods()
        .byReason()
        .forEach(
            reason ->
                description.line(
                    "", "%d × %s: %s".formatted(reason.pods(), reason.reason(), reason.message())));
    return description.text.toString();
  }

  /** Writes the answer to a what-if request. Scripts read its first line. */
  static String of(WhatIfAnswer answer, boolean wide, Instant now) {
    var description = new Description(wide, now);
    description.head(answer);
    Counted count = answer.count();
    if (count == null
        || !count.complete()
        || count.fit() == 0
        || count.fit() == count.requested()) {
      description.nodes(answer.nodes());
    } else {
      // The first pod fits on nodes that a later one does not: they are not other nodes.
      description.line("First pod fits", nodeCount(answer.nodes().fittedCount()));
      description.line(
          "Pod " + (count.fit() + 1), "does not fit " + nodeCount(answer.nodes().refusedCount()));
      description.reasons(answer.nodes().refusedByReason());
    }
    description.excluded(answer.excludedCount());
    description.reasons(answer.excludedByReason());
    description.gpus(answer.nodes());
    return description.text.toString();
  }

  private void head(WhatIfAnswer answer) {
    Counted count = answer.count();
    line("Fits", count == null ? answer.fits() ? "yes" : "no" : counted(count));
    line("Namespace", answer.namespace());
    line("Resource", answer.resource());
    line("Policy", answer.policy());
    line("Node", text(answer.node()));
    line("GPUs", gpus(answer.gpus()));
    waiting(answer.waiting());
    if (count != null) {
      count.nodes().forEach(node -> line("", node.pods() + " on " + node.node()));
    }
  }

  private static String counted(Counted count) {
    return "%d of %d%s"
        .formatted(
            count.fit(),
            count.requested(),
            count.complete() ? "" : ", and perhaps more: the time limit was reached");
  }

  private void waiting(@Nullable Waiting waiting) {
    if (waiting != null) {
      line("Waits because", waiting.reason() + ": " + waiting.message());
      line("What to do", text(waiting.whatToDo()));
    }
  }

  private static String gpus(@Nullable List<GpuShare> gpus) {
    return gpus == null
        ? ""
        : gpus.stream()
            .map(
                gpu ->
                    "%d (%s): %d of %d replicas"
                        .formatted(gpu.index(), gpu.uuid(), gpu.replicas(), gpu.replicasPerGpu()))
            .collect(Collectors.joining(", "));
  }

  private void head(PodDetail detail) {
    Pod pod = detail.pod();
    waiting(pod.waiting());
    Decision decision = detail.decision();
    if (decision != null && decision.chosen() != null) {
      line("Placed", text(decision.note()));
    }
    line("Name", pod.name());
    line("Namespace", pod.namespace());
    line("State", pod.state() + (pod.stage() == null ? "" : " (" + pod.stage() + ")"));
    line("Resource", pod.resource());
    if (wide) {
      line("UID", pod.uid());
    }
    line("Node", text(pod.node()));
    line("GPUs", gpus(pod.gpus()));
    amount("Granted", pod.granted());
    used(pod.used());
    line("Memory limited", Tables.limited(pod.gpus()));
    detail.annotations().forEach((key, value) -> line("Annotation", key + "=" + value));
  }

  private void amount(String label, @Nullable Amount amount) {
    if (amount != null) {
      amount(label, amount.gpus(), amount.memory());
    }
  }

  private void used(Pod.@Nullable Used used) {
    if (used != null) {
      amount("Used", used.gpus(), used.memory());
    }
  }

  private void amount(String label, @Nullable GpuQuantity gpus, @Nullable MemoryQuantity memory) {
    line(label, "%s GPUs, %s of memory".formatted(Cells.gpus(gpus), Cells.memory(memory)));
  }

  private void decision(Decision decision) {
    Instant time = decision.time();
    line(
        "Decided",
        "by policy "
            + decision.policy()
            + (time == null ? "" : ", %s ago".formatted(Cells.age(time, now))));
    if (decision.chosen() == null) {
      line("Note", text(decision.note()));
    }
    SmallerShare smaller = decision.smallerShare();
    if (smaller != null) {
      line(
          "Smaller share",
          "%s per GPU would fit now, such as on node %s"
              .formatted(
                  ShareText.fraction(smaller.replicas(), smaller.replicasPerGpu()),
                  smaller.node()));
    }
    if (decision.chosen() != null) {
      line("Chosen", decision.chosen().node());
    }
    nodes(decision.nodes());
    excluded(decision.excludedCount());
    gpus(decision.nodes());
  }

  private void nodes(CandidateNodes nodes) {
    line("Fitting", nodeCount(nodes.fittedCount()));
    line("Does not fit", nodeCount(nodes.refusedCount()));
    reasons(nodes.refusedByReason());
  }

  private static String nodeCount(int nodes) {
    return nodes == 1 ? "1 node" : nodes + " nodes";
  }

  private void excluded(@Nullable Integer nodes) {
    if (nodes != null) {
      line("Excluded", nodeCount(nodes) + ", by the pod's selectors and tolerations");
    }
  }

  private void reasons(List<NodeCount> reasons) {
    reasons.forEach(reason -> line("", reason.nodes() + " × " + reason.message()));
  }

  private void gpus(CandidateNodes nodes) {
    gpus("fits", nodes.fitted());
    gpus("nearest", nodes.refused());
  }

  private void gpus(String verdict, List<Candidate> nodes) {
    List<List<String>> rows =
        nodes.stream().flatMap(node -> node.gpus().stream().map(gpu -> row(node, gpu))).toList();
    if (!rows.isEmpty()) {
      int shown = wide ? rows.size() : Math.min(GPUS_MAX, rows.size());
      text.append("\nNodes, ")
          .append(verdict)
          .append(":\n")
          .append(TextTable.of(GPU_HEADER, rows.subList(0, shown)));
      if (shown < rows.size()) {
        text.append("and %d more GPUs: -o wide shows them\n".formatted(rows.size() - shown));
      }
    }
  }

  private static List<String> row(Candidate node, CandidateGpu gpu) {
    return List.of(
        node.node(),
        text(node.score()),
        text(gpu.index()),
        gpu.freeReplicas() + "/" + gpu.replicas(),
        gpu.largestShareReplicas() + "/" + gpu.replicas(),
        Cells.percent(gpu.effective().sm()),
        Cells.memory(gpu.effective().memoryFree()),
        gpu.message());
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
