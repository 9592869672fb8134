package dev.tranche.simulate;

import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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

  /** An answer that comes later. */
  private static final class Answer<T> {
    private @Nullable T value;
    private boolean failed;
    private @Nullable Runnable onDone;

    void complete(AsyncResult<T> result) {
      if (result.succeeded()) {
        value = result.result();
      } else {
        failed = true;
      }
      if (onDone != null) {
        onDone.run();
      }
    }

    void whenDone(Runnable then) {
      if (value != null || failed) {
        then.run();
      } else {
        onDone = then;
      }
    }
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
          var later = new Answer<T>();
          var _ = question.apply(extender.core()).onComplete(later::complete);
          later.whenDone(() -> answer.accept(Optional.ofNullable(later.value)));
        },
        answer -> answered.accept(answer.flatMap(value -> value)));
  }
}
