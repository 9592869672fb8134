package dev.tranche.webhook;

import dev.tranche.api.Names;
import java.util.Map;

/** The annotations of KAI-Scheduler: without a prefix, memory as a number of MiB. */
final class KaiWords {
  private static final String MEMORY = "gpu-memory";
  private static final Map<String, String> SAME =
      Map.of(
          "gpu-fraction", Names.GPU_FRACTION,
          "gpu-fraction-num-devices", Names.GPU_COUNT,
          "gpu-fraction-container-name", Names.GPU_CONTAINER);

  private KaiWords() {}

  static void read(Translation pod) {
    SAME.forEach(
        (theirs, ours) -> {
          String value = pod.annotation(theirs);
          if (value != null) {
            pod.say(Dialect.KAI, theirs, value, ours, value.strip());
          }
        });
    String memory = pod.annotation(MEMORY);
    if (memory == null) {
      return;
    }
    if (memory.strip().matches("[1-9]\\d{0,8}")) {
      pod.say(Dialect.KAI, MEMORY, memory, Names.GPU_MEMORY, memory.strip() + "Mi");
    } else {
      pod.refuse(Denial.OTHERS_MEMORY_MALFORMED.of(MEMORY, Shown.of(memory), Names.GPU_MEMORY));
    }
  }
}
