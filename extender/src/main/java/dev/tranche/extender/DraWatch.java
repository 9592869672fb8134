package dev.tranche.extender;

import dev.tranche.extender.dra.DraNodes;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.DraReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.WatchedDeviceClass;
import dev.tranche.extender.watch.WatchedSlice;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches DeviceClasses where the API server serves them, and ResourceSlices once a class maps one
 * of our resources. Nothing else depends on it, so an API server without them changes nothing.
 */
final class DraWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DraWatch.class);

  private final KubernetesClient client;
  private final Loop loop;
  private final DraNodes nodes;
  private final Runnable changed;
  private final ExtenderMetrics metrics;
  private final LongSupplier clockMs;
  private final OptionalReflector classes;

  /** Confined to the loop until the end. */
  private volatile @Nullable Reflector<?> slices;

  /**
   * @param nodes confined to the loop
   * @param changed called on the loop after all slices have been listed
   * @param checkAgainMs see {@link OptionalReflector}
   */
  DraWatch(
      KubernetesClient client,
      Loop loop,
      DraNodes nodes,
      Runnable changed,
      ExtenderMetrics metrics,
      LongSupplier clockMs,
      long checkAgainMs) {
    this.client = client;
    this.loop = loop;
    this.nodes = nodes;
    this.changed = changed;
    this.metrics = metrics;
    this.clockMs = clockMs;
    var sink =
        new Reflector.Sink<>(
            this::classSeen,
            (String uid, String name) -> loop.run(() -> nodes.classGone(name)),
            () -> loop.run(nodes::classesListed));
    this.classes =
        new OptionalReflector(
            client,
            DraReader.API,
            "deviceclasses",
            () -> new Reflector<>(client, DraReader.deviceClasses(), sink, metrics, clockMs),
            checkAgainMs);
  }

  void start() {
    classes.start();
  }

  private void classSeen(WatchedDeviceClass seen) {
    loop.run(
        () -> {
          nodes.classSeen(seen.key(), seen.extendedResource(), seen.expressions());
          if (nodes.isMapped() && slices == null) {
            LOG.info("DeviceClass {} maps {}", seen.key(), seen.extendedResource());
            slices = watchSlices();
          }
        });
  }

  private Reflector<?> watchSlices() {
    var sink =
        new Reflector.Sink<>(
            (WatchedSlice slice) ->
                loop.run(() -> nodes.sliceSeen(slice.key(), slice.node(), slice.driver())),
            (String uid, String name) -> loop.run(() -> nodes.sliceGone(name)),
            () ->
                loop.run(
                    () -> {
                      nodes.slicesListed();
                      changed.run();
                    }));
    var reflector = new Reflector<>(client, DraReader.resourceSlices(), sink, metrics, clockMs);
    reflector.start();
    return reflector;
  }

  @Override
  public void close() {
    classes.close();
    Reflector<?> watched = slices;
    if (watched != null) {
      watched.close();
    }
  }
}
