package dev.tranche.nodeplugin.limit;

import dev.tranche.nodeplugin.config.AllocateOptions;
import java.util.Map;
import java.util.Optional;

/**
 * Whether shares of this node must have a memory limit, and which GPUs can have one.
 *
 * @param gpus by uuid; MIG devices have none
 */
public record NodeLimits(boolean required, Toolkit toolkit, Map<String, LimitSupport> gpus) {
  /** Shares have no limit. */
  public static final NodeLimits NONE = new NodeLimits(false, Toolkit.UNKNOWN, Map.of());

  public NodeLimits {
    gpus = Map.copyOf(gpus);
  }

  /** Every share must have one, and nothing has been tried yet. */
  public static NodeLimits untried() {
    return new NodeLimits(true, Toolkit.UNKNOWN, Map.of());
  }

  /** Returns why a share of this GPU cannot have the limit that it must have; empty if it can. */
  public Optional<String> obstacle(String uuid, AllocateOptions options) {
    if (!required) {
      return Optional.empty();
    }
    return switch (gpus.getOrDefault(uuid, LimitSupport.UNTRIED)) {
      case LimitSupport.Unavailable unavailable -> Optional.of(unavailable.reason());
      case LimitSupport.Works ignored -> toolkit.obstacle(options);
    };
  }
}
