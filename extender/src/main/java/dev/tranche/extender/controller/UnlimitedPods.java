package dev.tranche.extender.controller;

import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.net.HttpURLConnection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Evicts pods that are not limited to their share of GPU memory, although limits are required.
 * Their neighbours could fail within their own shares. Confined to the event loop.
 */
public final class UnlimitedPods implements Controller {
  static final String REASON = "UnlimitedPodEvicted";

  /** A node tells which of its pods are not limited; it must not empty itself at once. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(1, 10_000, 10, 1);

  private static final String NOT_NOW = "a PodDisruptionBudget forbids it, or it is gone";

  private static final Logger LOG = LoggerFactory.getLogger(UnlimitedPods.class);

  private final Supplier<Collection<Unlimited>> pods;
  private final Function<String, Optional<PodFacts>> facts;
  private final Function<Unlimited, Future<Boolean>> evictor;
  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;
  private final NodeRate rate;
  private final Counter evicted;
  private final Counter refused;
  private final Set<String> inFlight = new HashSet<>();
  // By uid: a pod that a budget protects must not keep others of its node from their turn.
  private final Map<String, Integer> refusals = new HashMap<>();
  // By uid, of the last check: the node may just be about to tell the limit of a new container.
  private Set<String> suspects = Set.of();

  /**
   * A pod that is bound to the node which tells this of it.
   *
   * @param limited the worst of its GPUs
   */
  public record Unlimited(String node, String namespace, String name, String uid, Limited limited) {
    @Override
    public String toString() {
      return namespace + "/" + name;
    }
  }

  /**
   * @param pods that are not limited now
   * @param facts of a pod by its uid; empty if the pod is not known or gone
   * @param evictor asks the API server; false if a budget forbids it or the pod is gone
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of evictions by node
   */
  public UnlimitedPods(
      Supplier<Collection<Unlimited>> pods,
      Function<String, Optional<PodFacts>> facts,
      Function<Unlimited, Future<Boolean>> evictor,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      NodeRate rate,
      ExtenderMetrics metrics) {
    this.pods = pods;
    this.facts = facts;
    this.evictor = evictor;
    this.writer = writer;
    this.deciding = deciding;
    this.rate = rate;
    this.evicted = counter(metrics, "evicted");
    this.refused = counter(metrics, "refused");
  }

  private static Counter counter(ExtenderMetrics metrics, String outcome) {
    return metrics.counter(
        "tranche.extender.unlimited.evictions",
        "Evictions of pods that are not limited to their share of GPU memory.",
        "outcome",
        outcome);
  }

  /** Evicts pods that two checks in a row have found. */
  @Override
  public void everyTenSeconds() {
    if (!deciding.getAsBoolean()) {
      suspects = Set.of();
      return;
    }
    Set<String> found = new HashSet<>();
    List<Unlimited> now = new ArrayList<>(pods.get());
    now.removeIf(this::ends);
    now.sort(Comparator.comparing(pod -> refusals.getOrDefault(pod.uid(), 0)));
    for (Unlimited pod : now) {
      boolean again = suspects.contains(pod.uid()) && !inFlight.contains(pod.uid());
      if (again && rate.tryAcquire(pod.node())) {
        evict(pod);
      }
      found.add(pod.uid());
    }
    suspects = found;
    refusals.keySet().retainAll(found);
  }

  /**
   * Whether the pod is terminating or gone. The API server evicts a terminating pod again each time
   * it is asked, and a pod that ends for hours must not keep others of its node from their turn.
   */
  private boolean ends(Unlimited pod) {
    return facts.apply(pod.uid()).map(known -> known.preemption().terminating()).orElse(true);
  }

  private void evict(Unlimited pod) {
    inFlight.add(pod.uid());
    evictor
        .apply(pod)
        .onComplete(
            answer -> {
              inFlight.remove(pod.uid());
              if (answer.succeeded() && answer.result()) {
                evicted.increment();
                String message = message(pod);
                LOG.info("pod {}: {}", pod, message);
                writer.apply(event(pod, message)).onFailure(e -> unwritten(pod, e));
              } else {
                refused.increment();
                refused(pod, answer.succeeded() ? NOT_NOW : answer.cause().toString());
              }
            });
  }

  /** A conflict means that the event exists already. */
  private static void unwritten(Unlimited pod, Throwable failure) {
    boolean exists =
        failure instanceof KubernetesClientException e
            && e.getCode() == HttpURLConnection.HTTP_CONFLICT;
    if (!exists) {
      LOG.warn("no event for pod {}: {}", pod, failure.toString());
    }
  }

  /** Logs it once for each pod, which may be tried again for days. */
  private void refused(Unlimited pod, String why) {
    if (refusals.merge(pod.uid(), 1, Integer::sum) == 1) {
      LOG.info(
          "pod {} is not limited to its share of GPU memory and cannot be evicted now, will retry: {}",
          pod,
          why);
    }
  }

  private static String message(Unlimited pod) {
    return "this pod was evicted: memory limits are required, and %s. Remove NVIDIA_GPU_MEMORY_LIMIT from its image, and check the mode of NVIDIA's container runtime on node %s."
        .formatted(
            pod.limited() == Limited.NO
                ? "a container of it had none"
                : "the limit of a container was larger than its share",
            pod.node());
  }

  private static Event event(Unlimited pod, String message) {
    return Events.warning(
        ApiWriter.COMPONENT,
        Events.pod(pod.namespace(), pod.name(), pod.uid()),
        Events.uuid(pod.uid() + "/unlimited"),
        REASON,
        message);
  }
}
