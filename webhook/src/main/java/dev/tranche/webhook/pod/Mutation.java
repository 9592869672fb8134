package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;

/** The outcome of a pod's mutation at admission. */
public sealed interface Mutation {
  /** The pod stays as it is, and nothing is said. */
  Mutation UNCHANGED = admitted(new JsonPatch(), List.of());

  /** Returns the sentences that the user's client shows beside an admitted pod. */
  default List<String> warnings() {
    return List.of();
  }

  static Mutation admitted(JsonPatch patch, List<String> warnings) {
    return new Admitted(patch.operations(), warnings);
  }

  /**
   * The pod is admitted.
   *
   * @param patch empty if it stays as it is
   * @param warnings sentences that the user's client shows
   */
  record Admitted(ArrayNode patch, List<String> warnings) implements Mutation {}

  /**
   * The pod is denied.
   *
   * @param message one sentence or more: the value, what is wrong, what is allowed, an example
   * @param reason the reason, or the first of several, as metrics spell it
   */
  record Denied(String message, String reason) implements Mutation {}
}
