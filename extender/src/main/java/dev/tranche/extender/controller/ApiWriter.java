package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.client.Workers;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.process.client.Events;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes Bindings, events and node patches to the API server, and reads single pods from it. */
public final class ApiWriter implements ApiServer, ApiWrites {
  /** The source of the extender's Events. */
  static final String COMPONENT = "tranche-extender";

  /** Time for a Binding under way, and for a read of its pod. */
  private static final Duration DRAIN = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(ApiWriter.class);

  private final KubernetesClient client;
  private final List<String> resources;
  private final Loop loop;
  private final Workers binds;
  private final Workers checks;
  private final Binder binder;
  private final Counter expiredBinds;
  private final Workers writes;
  private final Workers events;
  private final Workers rejections;
  private final LineLimiter failureLog = new LineLimiter(LOG, "events that could not be created:");

  /**
   * @param client with a request timeout well below the scheduler's, and without retries: a bind
   *     that is repeated blindly cannot tell its own success from another's
   */
  public ApiWriter(
      KubernetesClient client, List<String> resources, Loop loop, ExtenderMetrics metrics) {
    this.client = client;
    this.resources = List.copyOf(resources);
    this.loop = loop;
    this.binds = new Workers("binds", 64, 512, metrics);
    // An outage of the API server may leave a thousand binds unknown, which are then checked.
    this.checks = new Workers("checks", 16, 1_024, metrics);
    this.binder = new Binder(client);
    this.expiredBinds =
        metrics.counter(
            "tranche.extender.binds.expired",
            "Bindings that were not sent: leadership was lost, or they had waited for too long.");
    this.writes = new Workers("writes", 4, 256, metrics);
    // Nodes and tenants determine the number of events. Separate queues keep either from delaying
    // the other's events or wake-ups.
    this.events = new Workers("events", 2, 256, metrics);
    this.rejections = new Workers("rejections", 2, 256, metrics);
  }

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod,
      String node,
      Map<String, String> annotations,
      Supplier<Optional<String>> expiry) {
    return submit(
            binds,
            () -> {
              // On a worker, where only the network can delay it further.
              Optional<String> expired = expiry.get();
              if (expired.isPresent()) {
                expiredBinds.increment();
                return new BindOutcome.Refused(expired.get());
              }
              return binder.bind(pod, node, annotations);
            })
        .recover(
            e -> Future.succeededFuture(new BindOutcome.Refused(String.valueOf(e.getMessage()))));
  }

  /**
   * Accepts no more Bindings and waits for those under way. Those in the queue are checked once
   * more before they are sent.
   *
   * @return false if some are still under way
   */
  public boolean drainBinds() {
    return binds.drain(DRAIN);
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    return submit(binds, () -> read(key));
  }

  @Override
  public Future<Optional<PodFacts>> checkedPod(String key) {
    return submit(checks, () -> read(key));
  }

  private Optional<PodFacts> read(String key) {
    return PodReader.get(client, key).flatMap(pod -> PodReader.fields(pod).read().facts(resources));
  }

  @Override
  public Future<?> wake(String node) {
    String patch =
        "{\"metadata\":{\"annotations\":{\"%s\":\"%s\"}}}"
            .formatted(Names.RETRY_TIME, Instant.now());
    return submit(
            writes,
            () -> client.nodes().withName(node).patch(PatchContext.of(PatchType.JSON_MERGE), patch))
        .onFailure(
            e ->
                LOG.warn(
                    "cannot annotate node {} to wake pending pods, will retry: {}",
                    node,
                    e.getMessage()));
  }

  @Override
  public Future<Optional<ObjectReference>> configMap(String namespace, String name) {
    return submit(
        events,
        () ->
            Optional.ofNullable(client.configMaps().inNamespace(namespace).withName(name).get())
                .map(map -> Events.configMap(namespace, name, map.getMetadata().getUid())));
  }

  @Override
  public Future<?> event(Event event) {
    return event(events, event);
  }

  private Future<?> event(Workers workers, Event event) {
    return submit(workers, () -> client.v1().events().resource(event).create())
        .onFailure(
            failure -> {
              if (!Events.exists(failure) && failureLog.tryAcquire(event.getReason())) {
                LOG.info(
                    "cannot create event {} {}/{}: {}",
                    event.getReason(),
                    event.getMetadata().getNamespace(),
                    event.getMetadata().getName(),
                    failure.toString());
              }
            });
  }

  @Override
  public Future<?> patchNode(String node, PatchType type, String patch) {
    var how = new PatchContext.Builder().withPatchType(type).withFieldManager(COMPONENT).build();
    return submit(writes, () -> client.nodes().withName(node).patch(how, patch));
  }

  @Override
  public Future<?> podEvent(Event event) {
    return event(rejections, event);
  }

  private <T> Future<T> submit(Workers workers, Callable<T> call) {
    return loop.completeOnLoop(workers.submit(call));
  }
}
