package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.InvariantCheck;
import dev.tranche.extender.invariant.Invariant;
import dev.tranche.extender.invariant.InvariantWatch.Standing;
import dev.tranche.extender.ledger.CamelCase;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;

/** What does not hold in the cluster, of what must hold. Broken ones come first. */
public record InvariantList(
    Instant time, int nodes, int gpus, int pods, List<InvariantFinding> items, int leftOut) {
  /** One finding. */
  public record InvariantFinding(
      String invariant,
      String subject,
      String message,
      long seconds,
      long allowedSeconds,
      boolean broken) {
    private static InvariantFinding of(Standing standing, long nowMs) {
      Invariant invariant = standing.finding().invariant();
      return new InvariantFinding(
          CamelCase.of(invariant),
          Printable.message(standing.finding().subject()),
          Printable.message(standing.finding().sentence()),
          Math.max(0, nowMs - standing.sinceMs()) / 1_000,
          invariant.boundMs / 1_000,
          standing.broken());
    }
  }

  /**
   * @param nowMs now, on the clock of the round
   */
  public static InvariantList of(InvariantCheck.Round round, Instant now, long nowMs) {
    return new InvariantList(
        now.minusMillis(Math.max(0, nowMs - round.atMs())),
        round.nodes(),
        round.gpus(),
        round.pods(),
        round.findings().stream()
            .map(standing -> InvariantFinding.of(standing, nowMs))
            .sorted(Comparator.comparing((InvariantFinding each) -> !each.broken()))
            .toList(),
        round.leftOut());
  }
}
