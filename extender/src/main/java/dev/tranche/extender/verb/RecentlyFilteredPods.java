package dev.tranche.extender.verb;

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
  private final Cache<String, PodFacts> byUid =
      Caffeine.newBuilder()
          .maximumSize(10_000)
          .expireAfterWrite(Duration.ofMinutes(15))
          // The cleanup costs less than waking another thread for it.
          .executor(Runnable::run)
          .build();

  void put(PodFacts pod) {
    byUid.put(pod.uid(), pod);
  }

  Optional<PodFacts> get(String uid) {
    return Optional.ofNullable(byUid.getIfPresent(uid));
  }
}
