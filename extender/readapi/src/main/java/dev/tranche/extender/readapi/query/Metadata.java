package dev.tranche.extender.readapi.query;

import com.fasterxml.jackson.annotation.JsonProperty;
import org.jspecify.annotations.Nullable;

/** Where a page of a list ends. */
public record Metadata(
    int remainingItemCount, @JsonProperty("continue") @Nullable String position) {}
