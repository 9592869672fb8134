package dev.tranche.extender.readapi.query;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import org.jspecify.annotations.Nullable;

/** Where a page of a list ends. */
public record Metadata(
    @JsonPropertyDescription("Rows after this page.") int remainingItemCount,
    @JsonProperty("continue")
        @JsonPropertyDescription(
            "Send it as the parameter continue for the next page. Absent on the last page.")
        @Nullable String position) {}
