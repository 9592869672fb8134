package dev.tranche.extender;

import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.PodGroupReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.WatchedPodGroup;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Watches PodGroups where the API server serves them, to know how many pods a gang needs. */
final class PodGroupWatch implements AutoCloseable {
  private final KubernetesClient client;
  private final Loop loop;
  private final Gangs gangs;
  private final ExtenderMetrics metrics;
  private final LongSupplier clockMs;
  private final OptionalApi api;
  private volatile @Nullable Reflector<?> groups;

  /**
   * @param gangs confined to the loop
   * @param checkAgainMs see {@link OptionalApi}
   */
  PodGroupWatch(
      KubernetesClient client,
      Loop loop,
      Gangs gangs,
      ExtenderMetrics metrics,
      LongSupplier clockMs,
      long checkAgainMs) {
    this.client = client;
    this.loop = loop;
    this.gangs = gangs;
    this.metrics = metrics;
    this.clockMs = clockMs;
    this.api = new OptionalApi(client, PodGroupReader.API, "podgroups", this::watch, checkAgainMs);
  }

  void start() {
    api.start();
  }

  private void watch() {
    var sink =
        new Reflector.Sink<>(
            (WatchedPodGroup group) ->
                loop.run(() -> gangs.groupSeen(group.key(), group.minimum())),
            (String uid, String key) -> loop.run(() -> gangs.groupGone(key)),
            () -> {});
    var reflector = new Reflector<>(client, PodGroupReader.kind(), sink, metrics, clockMs);
    groups = reflector;
    reflector.start();
  }

  @Override
  public void close() {
    api.close();
    Reflector<?> watched = groups;
    if (watched != null) {
      watched.close();
    }
  }
}
