package dev.tranche.simulate;

import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** Calls the extender that the Service routes to, over the network. */
final class RoutedVerbs implements Verbs {
  private static final long TIMEOUT_MS = 10_000;

  private final World world;

  RoutedVerbs(World world) {
    this.world = world;
  }

  @Override
  public void filter(
      SimulatedProcess caller,
      PodObject pod,
      List<String> nodes,
      Consumer<Optional<Filter.Answer>> answered) {
    ask(caller, core -> core.filter.inTurns(pod.facts(), nodes, false, ""), answered);
  }

  @Override
  public void prioritize(
      SimulatedProcess caller,
      PodObject pod,
      List<String> nodes,
      Consumer<Optional<Map<String, Integer>>> answered) {
    ask(
        caller,
        core -> Future.succeededFuture(core.prioritize.prioritize(pod.facts(), nodes)),
        answered);
  }

  @Override
  public void bind(SimulatedProcess caller, PodObject pod, String node, Consumer<String> answered) {
    this.<Optional<String>>ask(
        caller,
        core -> core.bind.bind(pod.key(), pod.uid(), node),
        answer ->
            answered.accept(answer.map(why -> why.orElse("")).orElse("bind was not answered")));
  }

  @Override
  public void preempt(
      SimulatedProcess caller,
      PodObject pod,
      Map<String, VictimUids> offered,
      Consumer<Optional<Preempt.Answer>> answered) {
    ask(caller, core -> core.preempt.preempt(pod.facts(), offered), answered);
  }

  private <T> void ask(
      SimulatedProcess caller,
      Function<ExtenderCore, Future<T>> question,
      Consumer<Optional<T>> answered) {
    ExtenderReplica extender = world.routed();
    if (extender == null || !extender.running()) {
      caller.run(2, () -> answered.accept(Optional.empty()));
      return;
    }
    world.network.<Optional<T>>call(
        caller,
        extender,
        TIMEOUT_MS,
        answer -> {
          var _ =
              question
                  .apply(extender.core())
                  .onComplete(done -> answer.accept(Optional.ofNullable(done.result())));
        },
        answer -> answered.accept(answer.flatMap(value -> value)));
  }
}
