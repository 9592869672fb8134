package dev.tranche.simulate;

import dev.tranche.extender.invariant.Finding;
import java.util.Optional;

/**
 * How a run has ended.
 *
 * @param violation empty if all has held
 * @param created how many pods have come; a name that is in use delays a pod, maybe until the end
 * @param bound how many pods were bound
 * @param waited how many pods were refused at some time
 */
record Outcome(
    Scenario scenario,
    Optional<Finding> violation,
    History history,
    Counts counts,
    int created,
    int bound,
    int waited) {}
