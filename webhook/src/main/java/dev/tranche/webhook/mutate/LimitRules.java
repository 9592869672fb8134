package dev.tranche.webhook.mutate;

import dev.tranche.api.LimitRequest;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import java.util.OptionalLong;

/** Compares the memory limits that a pod asks for with what its containers are granted. */
final class LimitRules {
  private static final String OF_SHARES =
      "the driver limits shares of less than a whole GPU; request one";
  private static final String NOT_REQUIRED =
      "the node plugin sets no memory limits here; your administrator can set"
          + " nodePlugin.memoryLimits to required";

  /** A context takes half of a smaller limit, or more. */
  private static final long SMALL_BYTES = 1L << 30;

  private LimitRules() {}

  /**
   * Denies a limit above the grant, where no eligible node has more. On a node that has less, the
   * node plugin sets the limit of the share. Warns of a limit that leaves little beside a context.
   */
  static void check(PodView pod, Grants granted, MutationRules.Memory memory, Messages messages) {
    for (Grant grant : granted.list()) {
      String container = grant.container().name();
      String own = Names.GPU_MEMORY_LIMIT_OF + container;
      String key = pod.annotations().containsKey(own) ? own : Names.GPU_MEMORY_LIMIT;
      OptionalLong wanted = LimitRequest.of(pod.annotations(), container);
      boolean ofItsOwn = wanted.orElse(LimitRequest.NONE) != LimitRequest.NONE;
      boolean share = grant.shareReplicas() < grant.replicasPerGpu();
      if (!ofItsOwn && !(share && memory.limits().required())) {
        continue;
      }
      long grantedBytes = grantedBytes(grant, granted, memory.reserveBytes());
      if (share && ofItsOwn && grantedBytes > 0 && wanted.getAsLong() > grantedBytes) {
        String text = pod.annotations().getOrDefault(key, "");
        messages.deny(
            Denial.LIMIT_ABOVE_GRANT, key, Printable.value(text), container, grantedBytes >> 20);
      } else if (share && memory.limits().required()) {
        long limitBytes = wanted.orElse(grantedBytes);
        if (limitBytes > 0 && limitBytes < SMALL_BYTES) {
          messages.warn(
              Warning.LIMIT_SMALL,
              container,
              limitBytes >> 20,
              ofItsOwn ? "Set " + key + " to more" : "Request a larger share");
        }
      } else if (ofItsOwn) {
        messages.warn(Warning.LIMIT_NO_EFFECT, key, container, share ? NOT_REQUIRED : OF_SHARES);
      }
    }
  }

  /** Returns the most that the container can be granted of a GPU; 0 if that is not known. */
  private static long grantedBytes(Grant grant, Grants granted, long reserveBytes) {
    long assumed = granted.memory().usableBytes();
    long most =
        granted.granularity().nodes().stream()
            .mapToLong(node -> node.usableBytes(reserveBytes).orElse(Long.MAX_VALUE))
            .max()
            .orElse(assumed > 0 ? assumed : Long.MAX_VALUE);
    return most == Long.MAX_VALUE ? 0 : grant.of(most);
  }
}
