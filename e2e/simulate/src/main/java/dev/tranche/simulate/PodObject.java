package dev.tranche.simulate;

import dev.tranche.api.Demand;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A pod as the API server has it.
 *
 * @param gpu the value of {@code tranche.dev/gpu}; empty without one
 * @param granted the value of {@code tranche.dev/granted-replicas}; empty without one
 * @param deletionAtMs when its grace period ends, by the API server's time of day; 0 unless it is
 *     terminating
 * @param condition why it could not be scheduled; empty before the first attempt
 * @param startedAtMs by the API server's time of day
 */
record PodObject(
    PodPlan plan,
    long version,
    @Nullable String node,
    String gpu,
    String granted,
    Phase phase,
    long deletionAtMs,
    @Nullable String nominated,
    String condition,
    long startedAtMs)
    implements Stored {
  enum Phase {
    PENDING,
    RUNNING,
    SUCCEEDED,
    FAILED
  }

  static final String NAMESPACE = "ns";

  static PodObject created(PodPlan plan, long version, long wallMs) {
    return new PodObject(plan, version, null, "", "", Phase.PENDING, 0, null, "", wallMs);
  }

  /** Returns what an extender reads of it. */
  PodFacts facts() {
    Map<String, String> annotations = new HashMap<>();
    if (plan.replicasPerGpu() > 0) {
      annotations.put(Names.REPLICAS_PER_GPU, Integer.toString(plan.replicasPerGpu()));
      for (Demand.Request request : plan.requests()) {
        annotations.put(
            Names.GPU_FRACTION_OF + request.container(),
            request.replicas() + "/" + plan.replicasPerGpu());
      }
    }
    if (!plan.model().isEmpty()) {
      annotations.put(Names.GPU_MODEL, plan.model());
    }
    if (!gpu.isEmpty()) {
      annotations.put(Names.GPU, gpu);
      annotations.put(Names.GRANTED_REPLICAS, granted);
    }
    return new PodFacts(
            plan.uid(),
            NAMESPACE,
            plan.name(),
            node,
            ended(),
            phase == Phase.RUNNING,
            Names.RESOURCE,
            plan.requests(),
            annotations)
        .with(
            new PreemptionInfo(
                plan.priority(),
                PodLabels.of(Map.of()),
                startedAtMs,
                phase != Phase.PENDING,
                deletionAtMs > 0,
                nominated,
                deletionAtMs,
                NodeNeeds.NONE));
  }

  PodObject bound(long at, String to, String onGpu, String replicas) {
    return new PodObject(plan, at, to, onGpu, replicas, phase, deletionAtMs, null, "", startedAtMs);
  }

  PodObject in(long at, Phase now, long wallMs) {
    return new PodObject(
        plan, at, node, gpu, granted, now, deletionAtMs, nominated, condition, wallMs);
  }

  PodObject terminating(long at, long untilWallMs) {
    return new PodObject(
        plan, at, node, gpu, granted, phase, untilWallMs, nominated, condition, startedAtMs);
  }

  /** After an attempt of the scheduler that has not placed it. */
  PodObject unscheduled(long at, String why, @Nullable String nominatedNode) {
    return new PodObject(
        plan, at, node, gpu, granted, phase, deletionAtMs, nominatedNode, why, startedAtMs);
  }

  @Override
  public String uid() {
    return plan.uid();
  }

  @Override
  public String key() {
    return NAMESPACE + "/" + plan.name();
  }

  /** Returns what its annotations promise, by uuid; empty before its Binding. */
  Map<String, GpuPart> promised() {
    Map<String, GpuPart> promised = new HashMap<>();
    String[] uuids = gpu.split(",");
    String[] counts = granted.split(",");
    for (int i = 0; i < uuids.length && !granted.isEmpty(); i++) {
      String[] count = counts[i].split("/");
      GpuPart part = GpuPart.of(Integer.parseInt(count[0]), Integer.parseInt(count[1]));
      promised.merge(uuids[i], part, GpuPart::plus);
    }
    return promised;
  }

  boolean ended() {
    return phase == Phase.SUCCEEDED || phase == Phase.FAILED;
  }

  boolean terminating() {
    return deletionAtMs > 0;
  }

  /** Whether it waits for a node. */
  boolean waits() {
    return node == null && !ended() && !terminating();
  }
}
