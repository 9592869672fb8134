package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.guard.FindingOutcome.Outcome;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Collects the findings in one pod, and the patch. */
final class GuardScan {
  /** A pod has hundreds of containers at most, but each may be found in several ways. */
  private static final int FOUND_MAX = 64;

  private final GuardMode mode;
  private final JsonPatch patch = new JsonPatch();
  private final List<FindingOutcome> found = new ArrayList<>();

  GuardScan(GuardMode mode) {
    this.mode = mode;
  }

  /** Whether containers that request no GPU get the void, even without findings. */
  boolean injectsVoid() {
    return mode != GuardMode.AUDIT;
  }

  /**
   * Records a finding that a patch can remove.
   *
   * @return whether to remove it
   */
  boolean recordRemovable(GuardFinding finding, String template, Object... values) {
    Outcome outcome = mode == GuardMode.VOID ? Outcome.VOIDED : Outcome.AUDITED;
    add(finding, outcome, false, template, values);
    return mode == GuardMode.VOID;
  }

  /** Records GPUs that the void takes from a pod, in every mode that injects it. */
  void recordVoided(GuardFinding finding, String template, Object... values) {
    if (injectsVoid()) {
      addFound(finding, Outcome.VOIDED, false, template, values);
    }
  }

  boolean hasFound(GuardFinding finding) {
    return found.stream().anyMatch(outcome -> outcome.finding() == finding);
  }

  /** Records a finding that no patch can remove. */
  void recordUnremovable(GuardFinding finding, String template, Object... values) {
    add(finding, Outcome.AUDITED, false, template, values);
  }

  /** Records something that most pods do, without a warning to the user. */
  void recordWithoutWarning(GuardFinding finding, String template, Object... values) {
    add(finding, Outcome.AUDITED, true, template, values);
  }

  /** The API server's policies say what deny refuses, and why. */
  private void add(
      GuardFinding finding, Outcome outcome, boolean common, String template, Object... values) {
    if (mode != GuardMode.DENY) {
      addFound(finding, outcome, common, template, values);
    }
  }

  /** Makes the users' values printable. Formats no sentence for findings above the maximum. */
  private void addFound(
      GuardFinding finding, Outcome outcome, boolean common, String template, Object... values) {
    if (found.size() < FOUND_MAX) {
      Object[] shown = Stream.of(values).map(v -> (Object) Printable.value(v.toString())).toArray();
      found.add(new FindingOutcome(finding, template.formatted(shown), outcome, common));
    }
  }

  /** Also replaces what is there. */
  void put(JsonNode value, String... path) {
    patch.add(value, path);
  }

  /** Replaces a list of a container: however much is removed, it is one operation. */
  void replace(Container container, String list, ArrayNode elements) {
    patch.add(elements, container.path(list));
  }

  Verdict verdict() {
    return new Verdict(Mutation.admitted(patch, FindingOutcome.warnings(found)), found);
  }
}
