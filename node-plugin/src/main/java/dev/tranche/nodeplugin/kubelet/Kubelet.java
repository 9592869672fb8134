package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Our whole standing with the kubelet. Confined to the event loop. */
public final class Kubelet {
  private final Vertx vertx;
  private final Options options;
  private final Assignments assignments;
  private final Supplier<List<String>> controlDevices;
  private final NodeMetrics metrics;
  private final Listener listener;
  private final PodResourcesClient podResources;
  private final ReadBack readBack;
  private @Nullable KubeletLink link;
  private String resource = "";
  private List<Object> published = List.of();

  /** Called on the event loop. */
  public interface Listener {
    /** The kubelet has accepted us, or left us. */
    void registrationChanged();

    /** What a List has shown; also when nothing is new. */
    void readBack(List<Holding> holdings, boolean assignmentsConfirmed);
  }

  /**
   * @param controlDevices device nodes that exist beside those of the GPUs; asked once GPUs are
   *     known
   */
  public Kubelet(
      Vertx vertx,
      Options options,
      Assignments assignments,
      Supplier<List<String>> controlDevices,
      NodeMetrics metrics,
      Listener listener) {
    this.vertx = vertx;
    this.options = options;
    this.assignments = assignments;
    this.controlDevices = controlDevices;
    this.metrics = metrics;
    this.listener = listener;
    this.podResources = new PodResourcesClient(vertx, options.podResourcesSocket());
    this.readBack = new ReadBack(vertx, podResources, this::read);
    metrics.gauge(
        "tranche.node.read.back.age.seconds",
        "Time since the kubelet last told who holds which replica.",
        () -> readBack.ageSeconds(System.nanoTime() / 1_000_000));
  }

  /**
   * Advertises these replicas from now on; the first call starts everything. Cheap when nothing
   * that the kubelet sees has changed, as after most samples.
   */
  public void publish(Replicas replicas) {
    List<Object> seen = seenByKubelet(replicas);
    if (!seen.equals(published)) {
      published = seen;
      publishNews(replicas);
    }
  }

  private static List<Object> seenByKubelet(Replicas replicas) {
    List<Object> seen = new ArrayList<>();
    seen.add(replicas.config());
    replicas.gpus().forEach(gpu -> seen.addAll(List.of(gpu.info(), gpu.health().healthy())));
    return seen;
  }

  private void publishNews(Replicas replicas) {
    if (link != null && resource.equals(replicas.resource())) {
      link.publish(replicas);
      return;
    }
    if (link == null) {
      readBack.start();
    } else {
      // A resource that is advertised no more must not keep its socket: the kubelet would go on
      // with it.
      link.stop();
    }
    resource = replicas.resource();
    link = link(replicas);
    link.start();
  }

  private KubeletLink link(Replicas replicas) {
    DevicePluginServer server =
        new DevicePluginServer(
            podResources,
            readBack,
            new Admissions(assignments, resource),
            controlDevices.get(),
            metrics,
            replicas);
    return new KubeletLink(
        vertx, options.kubeletSocket(), server, replicas, metrics, listener::registrationChanged);
  }

  private void read(PodList list) {
    assignments.listed(list);
    listener.readBack(list.holdings(resource), assignments.confirm(list));
  }

  public boolean registered() {
    return link != null && link.registered();
  }

  public Future<Void> stop() {
    readBack.stop();
    return link == null ? Future.succeededFuture() : link.stop();
  }
}
