package dev.tranche.nodeplugin.limit;

import dev.tranche.api.LimitRequest;
import dev.tranche.nodeplugin.config.AllocateOptions;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Whether shares of this node must have a memory limit, and which GPUs can have one.
 *
 * @param byPlugin whether the plugin sets limits, and not NVIDIA's hook
 * @param optOut whether a pod can ask for no limit
 * @param gpus by uuid; MIG devices have none
 */
public record NodeLimits(
    boolean required,
    boolean byPlugin,
    boolean optOut,
    Toolkit toolkit,
    Map<String, LimitSupport> gpus) {
  /** Shares have no limit. */
  public static final NodeLimits NONE =
      new NodeLimits(false, false, true, Toolkit.UNKNOWN, Map.of());

  public NodeLimits {
    gpus = Map.copyOf(gpus);
  }

  /**
   * Every share must have one, and nothing has been tried yet.
   *
   * @param byPlugin whether the plugin sets limits, and not NVIDIA's hook
   * @param optOut whether a pod can ask for no limit
   */
  public static NodeLimits untried(boolean byPlugin, boolean optOut) {
    return new NodeLimits(true, byPlugin, optOut, Toolkit.UNKNOWN, Map.of());
  }

  /** Whether NVIDIA's hook must run when a container with a share starts. */
  public boolean byHook() {
    return required && !byPlugin;
  }

  /** Returns whether a container gets no limit, by what its pod says about it. */
  public boolean optsOut(OptionalLong wanted) {
    return optOut && wanted.isPresent() && wanted.getAsLong() == LimitRequest.NONE;
  }

  /**
   * Returns the limit of a container: that of its share, or a smaller one that its pod asks for.
   *
   * @param wanted what the pod says about the limit, in bytes
   * @return {@link LimitRequest#NONE} if the container opts out
   */
  public long hardBytes(long shareBytes, OptionalLong wanted) {
    if (optsOut(wanted)) {
      return LimitRequest.NONE;
    }
    long bytes = wanted.orElse(LimitRequest.NONE);
    return bytes > 0 ? Math.min(shareBytes, bytes >> 20 << 20) : shareBytes;
  }

  /** Returns whether a cgroup without a limit on this GPU reads as the limit of a cgroup above. */
  public boolean inherited(String uuid) {
    return LimitSupport.WORKS_INHERITED.equals(gpus.get(uuid));
  }

  /** Returns why a share of this GPU cannot have the limit that it must have; empty if it can. */
  public Optional<String> obstacle(String uuid, AllocateOptions options) {
    if (!required) {
      return Optional.empty();
    }
    return switch (gpus.getOrDefault(uuid, LimitSupport.UNTRIED)) {
      case LimitSupport.Unavailable unavailable -> Optional.of(unavailable.reason());
      case LimitSupport.Works ignored -> byPlugin ? Optional.empty() : toolkit.obstacle(options);
    };
  }
}
