package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Why a pod waits.
 *
 * @param refusedNodes how many nodes were refused; null without a decision
 * @param time of the decision; null if there is none
 */
@JsonClassDescription("Why a pod waits, by the node that came nearest to fitting.")
public record Waiting(
    @JsonPropertyDescription("A reason in CamelCase, such as Full, Memory, NotFiltered.")
        String reason,
    String message,
    @Nullable Integer refusedNodes,
    @Nullable Instant time) {
  Waiting(String reason, String message) {
    this(reason, message, null, null);
  }
}
