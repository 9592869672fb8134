package dev.tranche.extender.verb;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.ledger.PodFacts;
import java.time.Duration;
import java.util.Optional;

/** Pods that were filtered here of late: only of these a bind may be news to our informer. */
public final class RecentlyFilteredPods {
  private final Cache<String, PodFacts> byUid =
      Caffeine.newBuilder()
          .maximumSize(10_000)
          .expireAfterWrite(Duration.ofMinutes(15))
          // As in Explanations.
          .executor(Runnable::run)
          .build();

  void put(PodFacts pod) {
    byUid.put(pod.uid(), pod);
  }

  Optional<PodFacts> get(String uid) {
    return Optional.ofNullable(byUid.getIfPresent(uid));
  }
}
