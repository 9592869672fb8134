package dev.tranche.webhook.mutate;

import dev.tranche.api.LimitRequest;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.LimitAnnotations;
import java.math.BigInteger;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.LongStream;

/** Compares the memory limits that a pod asks for with what its containers are granted. */
final class LimitRules {
  private static final String OF_SHARES =
      "the driver limits shares of less than a whole GPU; request one";
  private static final String NOT_REQUIRED =
      "the node plugin sets no memory limits here; your administrator can set nodePlugin.memoryLimits to required";

  /** A context takes half of a smaller limit, or more. */
  private static final long SMALL_BYTES = 1L << 30;

  private LimitRules() {}

  /**
   * Denies a limit above the grant, where no eligible node has more. On a node that has less, the
   * node plugin sets the limit of the share. Warns of a limit that leaves little beside a context.
   *
   * @param usableBytes usable memory of one GPU where no node is known, if the request is by
   *     memory; else 0
   */
  static void check(
      PodView pod,
      List<Grant> grants,
      ReplicaGranularity granularity,
      long usableBytes,
      MutationRules.Memory memory,
      List<Problem> problems,
      List<String> warnings) {
    for (Grant grant : grants) {
      String container = grant.request().container().name();
      String key = LimitAnnotations.keyFor(pod, container);
      OptionalLong wanted = LimitRequest.of(pod.annotations(), container);
      boolean ofItsOwn = wanted.orElse(LimitRequest.NONE) != LimitRequest.NONE;
      boolean share = grant.shareReplicas() < grant.replicasPerGpu();
      if (!ofItsOwn && !(share && memory.limits().required())) {
        continue;
      }
      long grantedBytes = grantedBytes(grant, granularity, usableBytes, memory);
      if (share && ofItsOwn && grantedBytes > 0 && wanted.getAsLong() > grantedBytes) {
        String text = pod.annotations().getOrDefault(key, "");
        problems.add(
            Denial.LIMIT_ABOVE_GRANT.of(key, Printable.value(text), container, grantedBytes >> 20));
      } else if (share && memory.limits().required()) {
        small(wanted.orElse(grantedBytes))
            .ifPresent(
                mib ->
                    warnings.add(
                        Warning.LIMIT_SMALL.of(
                            container,
                            mib,
                            ofItsOwn ? "Set " + key + " to more" : "Request a larger share")));
      } else if (ofItsOwn) {
        warnings.add(Warning.LIMIT_NO_EFFECT.of(key, container, share ? NOT_REQUIRED : OF_SHARES));
      }
    }
  }

  /**
   * Returns the MiB of a limit that leaves little.
   *
   * @param limitBytes 0 if there is none, or it is not known
   */
  private static OptionalLong small(long limitBytes) {
    return limitBytes > 0 && limitBytes < SMALL_BYTES
        ? OptionalLong.of(limitBytes >> 20)
        : OptionalLong.empty();
  }

  /** Returns the most that the container can be granted of a GPU; 0 if that is not known. */
  private static long grantedBytes(
      Grant grant, ReplicaGranularity granularity, long usableBytes, MutationRules.Memory memory) {
    LongStream ofNodes =
        granularity.nodes().stream()
            .mapToLong(node -> node.usableBytes(memory.reserveBytes()).orElse(Long.MAX_VALUE));
    long most = ofNodes.max().orElse(usableBytes > 0 ? usableBytes : Long.MAX_VALUE);
    return most == Long.MAX_VALUE
        ? 0
        : BigInteger.valueOf(most)
            .multiply(BigInteger.valueOf(grant.shareReplicas()))
            .divide(BigInteger.valueOf(grant.replicasPerGpu()))
            .longValueExact();
  }
}
