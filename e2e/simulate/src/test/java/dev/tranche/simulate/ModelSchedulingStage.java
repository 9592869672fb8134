package dev.tranche.simulate;

import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.simulate.script.SchedulingStage;
import dev.tranche.simulate.script.ScriptedExtender;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Runs scripts with the model of kube-scheduler. */
final class ModelSchedulingStage implements SchedulingStage {
  /** A script goes on at the same part of a second as on the real stage. */
  private static final long FIRST_MS = 5_200;

  private static final long START_MS = 5_000;

  private final World world =
      new World(new Scenario(2, Policy.PACKED, List.of(), List.of(), List.of(), Long.MAX_VALUE));
  private final ScriptedExtender extender = new ScriptedExtender(world.queue::nowMs);
  private final SchedulerModel scheduler = new SchedulerModel(world, new ScriptedVerbs());
  private final Map<String, String> uids = new LinkedHashMap<>();
  private long atMs = FIRST_MS;

  ModelSchedulingStage() {
    scheduler.start();
    run();
  }

  private void run() {
    while (world.queue.runNext(atMs)) {
      // Until then.
    }
  }

  private final class ScriptedVerbs implements Verbs {
    private <T> void later(
        SimulatedProcess caller, String verb, PodObject pod, T answer, Consumer<T> answered) {
      caller.run(1 + extender.takesMs(verb, pod.plan().name()), () -> answered.accept(answer));
    }

    @Override
    public void filter(
        SimulatedProcess caller,
        PodObject pod,
        List<String> nodes,
        Consumer<Optional<Filter.Answer>> answered) {
      Optional<Filter.Answer> answer =
          extender
              .filter(pod.plan().name(), nodes)
              .map(filtered -> new Filter.Answer.Nodes(filtered.nodes(), reasons(filtered)));
      later(caller, "filter", pod, answer, answered);
    }

    private static Map<Reason, List<String>> reasons(ScriptedExtender.Filtered filtered) {
      Map<Reason, List<String>> reasons = new TreeMap<>();
      filtered
          .refused()
          .forEach(
              (node, hard) ->
                  reasons
                      .computeIfAbsent(
                          hard ? Reason.FRAGMENTED : Reason.FULL, reason -> new ArrayList<>())
                      .add(node));
      return reasons;
    }

    @Override
    public void prioritize(
        SimulatedProcess caller,
        PodObject pod,
        List<String> nodes,
        Consumer<Optional<Map<String, Integer>>> answered) {
      later(caller, "prioritize", pod, extender.prioritize(pod.plan().name(), nodes), answered);
    }

    @Override
    public void bind(
        SimulatedProcess caller, PodObject pod, String node, Consumer<String> answered) {
      boolean binds = extender.bind(pod.plan().name(), node);
      later(
          caller,
          "bind",
          pod,
          binds ? "" : "refused",
          error -> {
            if (binds) {
              world.api.bind(pod.uid(), pod.key(), node, "GPU", "");
            }
            answered.accept(error);
          });
    }

    @Override
    public void preempt(
        SimulatedProcess caller,
        PodObject pod,
        Map<String, VictimUids> offered,
        Consumer<Optional<Preempt.Answer>> answered) {
      Map<String, List<String>> names = new TreeMap<>();
      offered.forEach((node, victims) -> names.put(node, names(victims)));
      Optional<Preempt.Answer> answer =
          extender
              .preempt(pod.plan().name(), names)
              .map(
                  left -> {
                    Map<String, VictimUids> kept = new LinkedHashMap<>(offered);
                    kept.keySet().retainAll(left.keySet());
                    return new Preempt.Answer.Nodes(kept);
                  });
      later(caller, "preempt", pod, answer, answered);
    }
  }

  private List<String> names(VictimUids victims) {
    return victims.uids().stream()
        .map(uid -> world.api.pods.get(uid).orElseThrow().plan().name())
        .toList();
  }

  private String uid(String pod) {
    return uids.getOrDefault(pod, "");
  }

  @Override
  public ScriptedExtender extender() {
    return extender;
  }

  @Override
  public void node(String name, int replicas) {
    world.api.createNode(name, replicas);
  }

  @Override
  public void replicas(String node, int replicas) {
    world.api.updateNode(node, (before, at) -> before.allocatable(at, replicas));
  }

  @Override
  public void annotate(String node) {
    world.api.updateNode(node, NodeObject::retried);
  }

  @Override
  public void remove(String node) {
    world.api.removeNode(node);
  }

  @Override
  public void pod(String name, int replicas, int priority) {
    var plan =
        new PodPlan(
            uids.size(),
            world.queue.nowMs(),
            name,
            ModelKubeletStage.main(replicas),
            0,
            priority,
            0,
            0,
            false,
            0);
    uids.put(name, plan.uid());
    world.api.create(plan);
  }

  @Override
  public void delete(String pod) {
    world.api.delete(uid(pod), false);
  }

  @Override
  public void gone(String pod) {
    world.api.finish(uid(pod));
  }

  @Override
  public void succeed(String pod) {
    world.api.phase(uid(pod), PodObject.Phase.SUCCEEDED, "");
  }

  @Override
  public void restartScheduler() {
    scheduler.kill();
    extender.forgetTimes();
    scheduler.start();
    atMs += START_MS;
    run();
  }

  @Override
  public void pass(int seconds) {
    atMs += 1_000L * seconds;
    run();
    var states = new TreeMap<String, String>();
    world.api.pods.all().forEach(pod -> states.put(pod.plan().name(), state(pod)));
    states.forEach((name, state) -> extender.note("= %s %s".formatted(name, state)));
  }

  private static String state(PodObject pod) {
    if (pod.ended()) {
      return "has ended";
    }
    if (pod.node() != null) {
      return (pod.terminating() ? "ends on " : "is on ") + pod.node();
    }
    return pod.nominated() == null ? "waits" : "waits for " + pod.nominated();
  }

  @Override
  public List<String> recording() {
    return extender.recording();
  }
}
