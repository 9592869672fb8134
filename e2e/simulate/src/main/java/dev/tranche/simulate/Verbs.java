package dev.tranche.simulate;

import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What a scheduler asks an extender. Answers come later; an empty one is an error, or none in time.
 */
interface Verbs {
  void filter(
      SimulatedProcess caller,
      PodObject pod,
      List<String> nodes,
      Consumer<Optional<Filter.Answer>> answered);

  void prioritize(
      SimulatedProcess caller,
      PodObject pod,
      List<String> nodes,
      Consumer<Optional<Map<String, Integer>>> answered);

  /**
   * @param answered gets the error; empty once the pod is bound
   */
  void bind(SimulatedProcess caller, PodObject pod, String node, Consumer<String> answered);

  /**
   * @param offered the victims of the dry run, by node
   */
  void preempt(
      SimulatedProcess caller,
      PodObject pod,
      Map<String, VictimUids> offered,
      Consumer<Optional<Preempt.Answer>> answered);
}
