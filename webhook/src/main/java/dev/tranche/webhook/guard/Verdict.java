package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.tranche.webhook.pod.Problem;
import java.util.List;

/** What the guard says of a pod. */
public sealed interface Verdict {
  /** Its ServiceAccount may see all GPUs. */
  record Exempt() implements Verdict {}

  /**
   * The pod is admitted.
   *
   * @param patch an RFC 6902 patch; empty if there is nothing to change
   * @param found the findings, audited or voided
   */
  record Admitted(ArrayNode patch, List<FindingOutcome> found) implements Verdict {
    public List<String> warnings() {
      return found.stream()
          .filter(f -> !f.common())
          .limit(SENTENCES_MAX)
          .map(FindingOutcome::sentence)
          .toList();
    }
  }

  /** A patch would be too long. */
  record Denied(Problem problem) implements Verdict {}

  /** API servers cut long warnings, and nobody reads them. */
  int SENTENCES_MAX = 6;
}
