package dev.tranche.extender.load;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;

/** When pods last worked on one GPU, to tell for how long they have been idle. */
final class LastWork {

  static final int PODS_MAX = 64;

  /** By pod; {@link LoadReading#OTHERS} for work that no pod is named for. */
  private final Map<String, long[]> workedAtMs = new HashMap<>();

  private long knownSinceMs = Long.MAX_VALUE;
  private long readAtMs;

  /**
   * @param gapMsMax after a longer time without a reading, nobody knows who worked meanwhile
   */
  void add(LoadReading reading, long gapMsMax) {
    long atMs = reading.sampledAtMs();
    if (knownSinceMs == Long.MAX_VALUE || atMs - readAtMs > gapMsMax) {
      forget(atMs);
    }
    readAtMs = atMs;
    if (reading.smByPod().isEmpty()) {
      addIfWorks(LoadReading.OTHERS, reading.sm(), atMs);
    } else {
      reading.smByPod().forEach((pod, sm) -> addIfWorks(pod, sm, atMs));
    }
  }

  private void addIfWorks(String pod, double sm, long atMs) {
    if (sm < LoadReading.NOTHING) {
      return;
    }
    // In place: thousands of nodes report every few seconds.
    workedAtMs.computeIfAbsent(pod, first -> new long[1])[0] = atMs;
    if (workedAtMs.size() > PODS_MAX) {
      workedAtMs.entrySet().stream()
          .min(Comparator.comparingLong(each -> each.getValue()[0]))
          .ifPresent(this::leaveOut);
    }
  }

  /** What is known begins later without the pod, so that no idle time is too long. */
  private void leaveOut(Map.Entry<String, long[]> oldest) {
    knownSinceMs = Math.max(knownSinceMs, oldest.getValue()[0]);
    workedAtMs.remove(oldest.getKey());
  }

  void forget(long atMs) {
    workedAtMs.clear();
    knownSinceMs = atMs;
  }

  int size() {
    return workedAtMs.size();
  }

  /** Returns since when the pod has certainly not worked; the largest number if nobody knows. */
  long idleSinceMs(String pod) {
    return Math.max(knownSinceMs, Math.max(workedAtMs(pod), workedAtMs(LoadReading.OTHERS)));
  }

  private long workedAtMs(String pod) {
    long[] atMs = workedAtMs.get(pod);
    return atMs == null ? 0 : atMs[0];
  }
}
