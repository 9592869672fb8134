package dev.tranche.extender.state;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.ledger.PodFacts;
import java.time.Duration;
import java.util.Optional;

/**
 * The pods that were filtered here recently. A bind of a pod that our informer doesn't know yet is
 * accepted only for these.
 */
public final class RecentlyFilteredPods {
  private static final int PODS_MAX = 10_000;

  /** Most pods take less. One that takes more counts as several. */
  private static final long POD_BYTES = 1 << 10;

  private final Cache<String, PodFacts> byUid =
      Caffeine.newBuilder()
          .maximumWeight(PODS_MAX * POD_BYTES)
          .weigher((String uid, PodFacts pod) -> Math.max((int) POD_BYTES, pod.bytes()))
          .expireAfterWrite(Duration.ofMinutes(15))
          // The cleanup costs less than waking another thread for it.
          .executor(Runnable::run)
          .build();

  public void put(PodFacts pod) {
    byUid.put(pod.uid(), pod);
  }

  public Optional<PodFacts> get(String uid) {
    return Optional.ofNullable(byUid.getIfPresent(uid));
  }
}
