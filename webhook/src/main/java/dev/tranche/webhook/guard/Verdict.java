package dev.tranche.webhook.guard;

import dev.tranche.webhook.pod.Mutation;
import java.util.List;

/**
 * What is decided about a pod.
 *
 * @param found what the guard found in it
 */
public record Verdict(Mutation mutation, List<FindingOutcome> found) {
  /** The pod stays as it is, and nothing is said. */
  public static final Verdict UNCHANGED = of(Mutation.UNCHANGED);

  public static Verdict of(Mutation mutation) {
    return new Verdict(mutation, List.of());
  }
}
