package dev.tranche.webhook.pod;

import java.util.List;

/** What becomes of a pod at admission. */
public sealed interface Mutation {
  /**
   * The pod goes on as it is.
   *
   * @param warnings sentences that the user's client shows
   */
  record Unchanged(List<String> warnings) implements Mutation {}

  /**
   * The pod goes on, rewritten.
   *
   * @param patch not empty
   * @param warnings sentences that the user's client shows
   */
  record Patched(JsonPatch patch, List<String> warnings) implements Mutation {}

  /**
   * The pod is refused.
   *
   * @param message one sentence or more: the value, what is wrong, what is allowed, an example
   * @param reason which of the reasons, the first of several, as metrics spell it
   */
  record Denied(String message, String reason) implements Mutation {}
}
