package dev.tranche.webhook.request;

import dev.tranche.api.LimitRequest;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import java.util.Map;
import java.util.OptionalLong;

/** The memory limits that a pod asks for, of its own accord. */
public final class LimitAnnotations {
  private LimitAnnotations() {}

  /**
   * Adds a problem for each invalid limit.
   *
   * @param optOut whether a pod can ask for no limit
   */
  public static void check(PodView pod, boolean optOut, Messages messages) {
    for (Map.Entry<String, String> annotation : pod.annotations().entrySet()) {
      String key = annotation.getKey();
      boolean named = key.startsWith(Names.GPU_MEMORY_LIMIT_OF);
      if ((named || key.equals(Names.GPU_MEMORY_LIMIT)) && !messages.isFull()) {
        if (named) {
          GpuRequests.checkContainer(
              pod, key, key.substring(Names.GPU_MEMORY_LIMIT_OF.length()), messages);
        }
        OptionalLong bytes = LimitRequest.parse(annotation.getValue());
        if (bytes.isEmpty()) {
          messages.deny(Denial.LIMIT_MALFORMED.of(key, Printable.value(annotation.getValue())));
        } else if (bytes.getAsLong() == LimitRequest.NONE && !optOut) {
          messages.deny(Denial.LIMIT_OPT_OUT.of(key));
        }
      }
    }
  }

  /** Returns the annotation that decides about a container. */
  public static String keyFor(PodView pod, String container) {
    String own = Names.GPU_MEMORY_LIMIT_OF + container;
    return pod.annotations().containsKey(own) ? own : Names.GPU_MEMORY_LIMIT;
  }
}
