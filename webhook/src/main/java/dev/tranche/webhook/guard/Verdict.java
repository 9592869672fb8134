package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.node.ArrayNode;
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

  /**
   * The pod is denied.
   *
   * @param found the findings; not empty
   */
  record Denied(List<FindingOutcome> found) implements Verdict {
    public String message() {
      StringBuilder message =
          new StringBuilder("this pod tries to access GPUs that it was not granted: ");
      found.stream().limit(SENTENCES_MAX).forEach(f -> message.append(f.sentence()).append(' '));
      return message
          .append(
              "Request a share with the annotation tranche.dev/gpu-fraction: \"0.5\"; a pod that needs all GPUs needs an exemption, for example the namespace label tranche.dev/guard: exempt.")
          .toString();
    }
  }

  /** API servers cut long warnings, and nobody reads them. */
  int SENTENCES_MAX = 6;
}
