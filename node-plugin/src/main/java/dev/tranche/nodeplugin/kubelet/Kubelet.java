package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.toSet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.meters.Failures;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Manages the connection to the kubelet: registration, device lists, allocations and read-back.
 * Confined to the event loop.
 */
public final class Kubelet {
  private final Assignments assignments;
  private final HeldReplicas held;
  private final Failures failures;
  private final KubeletParts parts;
  private final PodResourcesClient podResources;
  private final ReadBack readBack;
  // One for each resource, since the kubelet expects a plugin and a socket for each.
  private final Map<String, KubeletLink> links = new LinkedHashMap<>();
  private Future<Void> stopping = Future.succeededFuture();
  private @Nullable NodeReplicas published;

  /**
   * Receives changes of the registration, and what the kubelet has done. Called on the event loop.
   */
  public interface Listener {
    /** The kubelet has registered the plugin, or dropped it. */
    void registrationChanged();

    /** Another plugin serves our resource. Called once until that plugin is gone. */
    void occupied(String sentence);

    /**
     * The kubelet's folder was deleted, so no file can be created in it; only a new mount helps.
     */
    void folderRemoved(Path folder);

    /**
     * A List was read back, even if it shows nothing new.
     *
     * @param complete whether the List shows every holder of replicas
     */
    void readBack(List<Holding> holdings, boolean complete, boolean assignmentsConfirmed);

    /** An Allocate was granted, so containers may hold other replicas. */
    void allocated();
  }

  /**
   * @param held what containers hold; what Allocate grants is added
   */
  public Kubelet(
      KubeletParts parts, Assignments assignments, HeldReplicas held, Failures failures) {
    this.parts = parts;
    this.assignments = assignments;
    this.held = held;
    this.failures = failures;
    this.podResources = new PodResourcesClient(parts.vertx(), parts.options().podResourcesSocket());
    this.readBack = new ReadBack(parts.vertx(), podResources, this::read);
    parts
        .metrics()
        .gauge(
            "tranche.node.read.back.age.seconds",
            "Time since the kubelet last reported which pods hold which replicas.",
            () -> listAgeMs(MonotonicClock.ms()).map(ms -> ms / 1000.0).orElse(Double.NaN));
  }

  /**
   * Advertises these replicas from now on; the first call also starts the read-back. Registers only
   * new resources, and sends a new device list only for resources that have changed.
   */
  public void publish(NodeReplicas replicas) {
    if (replicas.equals(published)) {
      return;
    }
    if (published == null) {
      readBack.start();
    }
    published = replicas;
    // A resource that is no longer advertised must lose its socket: the kubelet would keep using
    // it.
    Set<String> resources = replicas.byResource().stream().map(Replicas::resource).collect(toSet());
    List<String> gone = links.keySet().stream().filter(r -> !resources.contains(r)).toList();
    gone.forEach(resource -> stopLink(Objects.requireNonNull(links.remove(resource))));
    replicas
        .byResource()
        .forEach(ofOne -> failures.task("resource " + ofOne.resource(), () -> publish(ofOne)));
  }

  private void publish(Replicas replicas) {
    KubeletLink known = links.get(replicas.resource());
    if (known != null) {
      known.publish(replicas);
    } else {
      var calls = new ResourceCalls(assignments, held, replicas);
      var server = new DevicePluginServer(parts, podResources, readBack, calls);
      var link = new KubeletLink(parts, server, replicas);
      links.put(replicas.resource(), link);
      // A link to the same resource may just have been stopped, and its socket not be deleted yet.
      stopping.onComplete(done -> link.start());
    }
  }

  /** Restores sockets and registrations that the kubelet, or another plugin, has removed. */
  public void check() {
    links.forEach((resource, link) -> failures.task("resource " + resource, link::check));
  }

  private void stopLink(KubeletLink link) {
    Future<Void> before = stopping;
    stopping = link.stop().eventually(() -> before).otherwiseEmpty();
  }

  private void read(PodList list) {
    assignments.listed(list);
    List<Holding> holdings = list.holdings(this::isOurs);
    boolean complete = list.complete(parts.options().nodeName());
    parts.listener().readBack(holdings, complete, assignments.confirm(list));
  }

  // An earlier config, or NVIDIA's plugin, may have advertised the same GPUs under another name.
  private boolean isOurs(ContainerDevices devices) {
    NodeReplicas now = published;
    return links.containsKey(devices.getResourceName())
        || (now != null
            && devices.getDeviceIdsList().stream()
                .anyMatch(id -> now.sharing().containsKey(ReplicaId.uuidOf(id))));
  }

  /** Returns the problems that prevent the registration and that somebody must fix. */
  public List<String> complaints() {
    return links.values().stream().map(KubeletLink::complaint).filter(c -> !c.isEmpty()).toList();
  }

  /** Returns the age of the last List that was read back; empty before the first. */
  public Optional<Long> listAgeMs(long nowMs) {
    return readBack.listAgeMs(nowMs);
  }

  /** Returns whether there are resources and the kubelet has registered all of them. */
  public boolean registered() {
    return !links.isEmpty() && links.values().stream().allMatch(KubeletLink::registered);
  }

  public Future<Void> stop() {
    readBack.stop();
    links.values().forEach(this::stopLink);
    return stopping;
  }
}
