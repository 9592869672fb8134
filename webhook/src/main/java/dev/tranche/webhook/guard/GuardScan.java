package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.guard.FindingOutcome.Outcome;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Collects the findings in one pod, and the patch. */
final class GuardScan {
  /** A pod has hundreds of containers at most, but each may be found in several ways. */
  private static final int FOUND_MAX = 64;

  /** Two operations for each container of the largest pod that is admitted. */
  static final int OPERATIONS_MAX = 2_000;

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
  boolean recordRemovable(Finding finding, String template, Object... values) {
    Outcome outcome = mode == GuardMode.VOID ? Outcome.VOIDED : Outcome.AUDITED;
    add(finding, outcome, false, template, values);
    return mode == GuardMode.VOID;
  }

  /** Records GPUs that the void takes from a pod, in every mode that injects it. */
  void recordVoided(Finding finding, String template, Object... values) {
    if (injectsVoid()) {
      addFound(finding, Outcome.VOIDED, false, template, values);
    }
  }

  boolean hasFound(Finding finding) {
    return found.stream().anyMatch(outcome -> outcome.finding() == finding);
  }

  /** Records a finding that no patch can remove. */
  void recordUnremovable(Finding finding, String template, Object... values) {
    add(finding, Outcome.AUDITED, false, template, values);
  }

  /** Records something that most pods do, without a warning to the user. */
  void recordWithoutWarning(Finding finding, String template, Object... values) {
    add(finding, Outcome.AUDITED, true, template, values);
  }

  /** The API server's policies say what deny refuses, and why. */
  private void add(
      Finding finding, Outcome outcome, boolean common, String template, Object... values) {
    if (mode != GuardMode.DENY) {
      addFound(finding, outcome, common, template, values);
    }
  }

  /** Makes the users' values printable. Formats no sentence for findings above the maximum. */
  private void addFound(
      Finding finding, Outcome outcome, boolean common, String template, Object... values) {
    if (found.size() < FOUND_MAX) {
      Object[] shown = Stream.of(values).map(v -> (Object) Printable.value(v.toString())).toArray();
      found.add(new FindingOutcome(finding, template.formatted(shown), outcome, common));
    }
  }

  /** Also replaces what is there. */
  void put(JsonNode value, String... path) {
    if (!isFull()) {
      patch.add(value, path);
    }
  }

  void remove(String... path) {
    if (!isFull()) {
      patch.remove(path);
    }
  }

  /**
   * Removes elements from a list, the last one first, so that the indexes of the others stay valid.
   * The patch needs no copy of the list.
   *
   * @param indexes in ascending order
   */
  void removeAll(List<Integer> indexes, String... list) {
    for (int index : indexes.reversed()) {
      String[] element = Arrays.copyOf(list, list.length + 1);
      element[list.length] = String.valueOf(index);
      remove(element);
    }
  }

  /** Returns the verdict. A pod that needs a longer patch than any real one is denied instead. */
  Verdict verdict() {
    return isFull()
        ? Verdict.of(
            Mutation.Denied.of(
                List.of(
                    Denial.TOO_LARGE.of(
                        "more variables, mounts and annotations to remove", OPERATIONS_MAX))))
        : new Verdict(Mutation.admitted(patch, FindingOutcome.warnings(found)), found);
  }

  private boolean isFull() {
    return patch.operations().size() > OPERATIONS_MAX;
  }
}
