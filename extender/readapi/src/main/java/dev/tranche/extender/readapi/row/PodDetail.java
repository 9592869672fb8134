package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A pod, why it is where it is, and kube-scheduler's message about it. */
public record PodDetail(
    @JsonUnwrapped Pod pod,
    Map<String, String> annotations,
    @Nullable Decision decision,
    @Nullable String schedulerMessage) {}
