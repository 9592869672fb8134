package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.gpu.Hardware;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Our whole standing with the kubelet. Confined to the event loop. */
public final class Kubelet {
  private final Vertx vertx;
  private final Options options;
  private final Assignments assignments;
  private final Supplier<Hardware> hardware;
  private final NodeMetrics metrics;
  private final Listener listener;
  private final PodResourcesClient podResources;
  private final ReadBack readBack;
  // One for each resource, since the kubelet wants a plugin and a socket for each.
  private final Map<String, KubeletLink> links = new LinkedHashMap<>();
  private Future<Void> leaving = Future.succeededFuture();
  private @Nullable NodeReplicas published;

  /** Hears how we stand with the kubelet, and what it has done. Called on the event loop. */
  public interface Listener {
    /** The kubelet has accepted us, or left us. */
    void registrationChanged();

    /** Another plugin serves our resource; told once until it is gone. */
    void occupied(String sentence);

    /** Nothing can be put into the kubelet's folder any more: only another mount would help. */
    void folderRemoved(Path folder);

    /**
     * What a List has shown; also when nothing is new.
     *
     * @param complete whether nobody holds what it does not show
     */
    void readBack(List<Holding> holdings, boolean complete, boolean assignmentsConfirmed);

    /** An Allocate was granted. */
    void allocated(Replicas replicas, List<String> ids);
  }

  /**
   * @param hardware asked at each call, since the driver may be another by then
   */
  public Kubelet(
      Vertx vertx,
      Options options,
      Assignments assignments,
      Supplier<Hardware> hardware,
      NodeMetrics metrics,
      Listener listener) {
    this.vertx = vertx;
    this.options = options;
    this.assignments = assignments;
    this.hardware = hardware;
    this.metrics = metrics;
    this.listener = listener;
    this.podResources = new PodResourcesClient(vertx, options.podResourcesSocket());
    this.readBack = new ReadBack(vertx, podResources, this::read, this::registered);
    metrics.gauge(
        "tranche.node.read.back.age.seconds",
        "Time since the kubelet last told who holds which replica.",
        () -> readBack.ageSeconds(System.nanoTime() / 1_000_000));
  }

  /**
   * Advertises these replicas from now on; the first call starts everything. Only a resource that
   * is new is registered, and only one that has changed is told again.
   */
  public void publish(NodeReplicas replicas) {
    if (replicas.equals(published)) {
      return;
    }
    if (published == null) {
      readBack.start();
    }
    published = replicas;
    // A resource that is advertised no more must not keep its socket: the kubelet would go on with
    // it.
    Set<String> resources = replicas.resources().collect(Collectors.toSet());
    List<String> gone = links.keySet().stream().filter(r -> !resources.contains(r)).toList();
    gone.forEach(resource -> leave(Objects.requireNonNull(links.remove(resource))));
    replicas.byResource().forEach(this::publish);
  }

  private void publish(Replicas replicas) {
    KubeletLink known = links.get(replicas.resource());
    if (known != null) {
      known.publish(replicas);
    } else {
      KubeletLink link = link(replicas);
      links.put(replicas.resource(), link);
      // Its name may be that of one just left, whose socket is still being taken away.
      leaving.onComplete(done -> link.start());
    }
  }

  /** To be called when the kubelet has accepted us, or left us. */
  public void registrationChanged() {
    readBack.disturbed();
  }

  /** Makes good what the kubelet, or another plugin, has taken away. */
  public void check() {
    links.values().forEach(KubeletLink::check);
  }

  private void leave(KubeletLink link) {
    Future<Void> before = leaving;
    leaving = link.stop().eventually(() -> before).otherwiseEmpty();
  }

  private KubeletLink link(Replicas replicas) {
    DevicePluginServer server =
        new DevicePluginServer(
            podResources,
            readBack,
            new Admissions(assignments, replicas.resource()),
            hardware,
            options.extender().isEmpty(),
            metrics,
            listener::allocated,
            replicas);
    return new KubeletLink(vertx, options.kubeletSocket(), server, replicas, metrics, listener);
  }

  private boolean read(PodList list) {
    assignments.listed(list);
    List<Holding> holdings = list.holdings(this::ours);
    boolean complete = list.complete(options.nodeName());
    listener.readBack(holdings, complete, assignments.confirm(list));
    return !holdings.isEmpty() || assignments.size() > 0;
  }

  // An earlier config, or NVIDIA's plugin, may have had another name for the same GPUs.
  private boolean ours(ContainerDevices devices) {
    NodeReplicas now = published;
    return links.containsKey(devices.getResourceName())
        || (now != null
            && devices.getDeviceIdsList().stream()
                .anyMatch(id -> now.concerns(ReplicaId.uuidOf(id))));
  }

  /** What keeps the kubelet from us and somebody must mend; empty: nothing. */
  public List<String> complaints() {
    return links.values().stream().map(KubeletLink::complaint).filter(c -> !c.isEmpty()).toList();
  }

  /** Age of the List that was last read back; empty before the first. */
  public OptionalLong listAgeMs(long nowMs) {
    return readBack.listAgeMs(nowMs);
  }

  /** The kubelet knows every resource of ours; there is at least one. */
  public boolean registered() {
    return !links.isEmpty() && links.values().stream().allMatch(KubeletLink::registered);
  }

  public Future<Void> stop() {
    readBack.stop();
    links.values().forEach(this::leave);
    return leaving;
  }
}
