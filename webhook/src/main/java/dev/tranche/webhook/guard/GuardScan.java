package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.guard.FindingOutcome.Outcome;
import dev.tranche.webhook.pod.JsonPatch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** What has been found in one pod so far, and the patch as it grows. */
final class GuardScan {
  /** A pod has hundreds of containers at most, but each may be found in several ways. */
  private static final int FOUND_MAX = 64;

  /** Two for each of the most containers that a pod may have. */
  static final int OPERATIONS_MAX = 2_000;

  private final GuardMode mode;
  private final JsonPatch patch = new JsonPatch();
  private final List<FindingOutcome> found = new ArrayList<>();

  GuardScan(GuardMode mode) {
    this.mode = mode;
  }

  /** Whether containers that reach for nothing get the void. */
  boolean changes() {
    return mode != GuardMode.AUDIT;
  }

  /**
   * Tells of what a patch can close.
   *
   * @return whether to close it
   */
  boolean take(Finding finding, String template, Object... values) {
    Outcome outcome =
        switch (mode) {
          case AUDIT -> Outcome.AUDITED;
          case VOID -> Outcome.VOIDED;
          case DENY -> Outcome.DENIED;
        };
    add(finding, outcome, false, template, values);
    return outcome == Outcome.VOIDED;
  }

  /** Tells of what no patch can close. */
  void tell(Finding finding, String template, Object... values) {
    add(finding, untaken(), false, template, values);
  }

  /** Tells of what most pods do, for the record alone. */
  void tellQuietly(Finding finding, String template, Object... values) {
    add(finding, untaken(), true, template, values);
  }

  private Outcome untaken() {
    return mode == GuardMode.DENY ? Outcome.DENIED : Outcome.AUDITED;
  }

  /** Users' values are made printable here, and no sentence is made that nobody would read. */
  private void add(
      Finding finding, Outcome outcome, boolean everyday, String template, Object... values) {
    if (found.size() < FOUND_MAX) {
      Object[] shown = Stream.of(values).map(v -> (Object) Printable.value(v.toString())).toArray();
      found.add(new FindingOutcome(finding, template.formatted(shown), outcome, everyday));
    }
  }

  /** Also replaces what is there. */
  void put(JsonNode value, String... path) {
    if (!full()) {
      patch.add(value, path);
    }
  }

  void remove(String... path) {
    if (!full()) {
      patch.remove(path);
    }
  }

  /**
   * Takes elements from a list, the last one first, so that the others keep their places. Nothing
   * of the list has to be kept for it.
   *
   * @param indexes rising
   */
  void removeAll(List<Integer> indexes, String... list) {
    for (int index : indexes.reversed()) {
      String[] element = Arrays.copyOf(list, list.length + 1);
      element[list.length] = String.valueOf(index);
      remove(element);
    }
  }

  /** A pod that takes a longer patch than any real one is refused rather than mended. */
  Verdict verdict() {
    if (full()) {
      return new Verdict.Denied(
          found.stream()
              .map(f -> new FindingOutcome(f.finding(), f.what(), Outcome.DENIED, f.everyday()))
              .toList());
    }
    return found.stream().anyMatch(f -> f.outcome() == Outcome.DENIED)
        ? new Verdict.Denied(found)
        : new Verdict.Admitted(patch.operations(), found);
  }

  private boolean full() {
    return patch.operations().size() > OPERATIONS_MAX;
  }
}
