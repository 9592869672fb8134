package dev.tranche.nodeplugin.limit;

import dev.tranche.api.LimitRequest;
import dev.tranche.nodeplugin.config.Options.LimitOptions;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Whether shares of this node must have a memory limit, which NVIDIA's hook sets.
 *
 * @param optOut whether a pod can ask for no limit
 * @param nodeObstacle why no share can have one, as a part of a sentence; empty if none is known
 */
public record NodeLimits(boolean required, boolean optOut, Optional<String> nodeObstacle) {
  /** NVIDIA's hook that sets a container's limit from two environment variables. */
  public static final String HOOK = "apply-cuda-memory-limits";

  /** Shares have no limit. */
  public static final NodeLimits NONE = new NodeLimits(false, true, Optional.empty());

  /** Returns them by these options. */
  public static NodeLimits of(LimitOptions options, Optional<String> nodeObstacle) {
    return new NodeLimits(options.required(), options.optOut(), nodeObstacle);
  }

  /** Returns why a share of this GPU cannot have the limit that it must have; empty if it can. */
  public Optional<String> obstacle(GpuInfo gpu) {
    return required && gpu.usableBytes() == 0
        ? Optional.of(
            "NVML does not report the memory of GPU %s, so a share of it is unknown; set memoryLimits to off on this node"
                .formatted(gpu.number()))
        : nodeObstacle;
  }

  /** Returns whether a container gets no limit, by what its pod says about it. */
  public boolean optsOut(OptionalLong wanted) {
    return optOut && wanted.isPresent() && wanted.getAsLong() == LimitRequest.NONE;
  }
}
