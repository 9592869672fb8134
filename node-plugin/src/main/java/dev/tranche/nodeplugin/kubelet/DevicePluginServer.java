package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.AllocateResponse;
import dev.tranche.api.kubelet.ContainerAllocateRequest;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.kubelet.ContainerPreferredAllocationResponse;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.DevicePluginOptions;
import dev.tranche.api.kubelet.DevicePluginService;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.PreStartContainerRequest;
import dev.tranche.api.kubelet.PreStartContainerResponse;
import dev.tranche.api.kubelet.PreferredAllocationRequest;
import dev.tranche.api.kubelet.PreferredAllocationResponse;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.process.loop.MonotonicClock;
import io.vertx.core.Future;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.StatusException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers the kubelet's calls for one resource, in the order of the API. Confined to the event
 * loop.
 */
final class DevicePluginServer extends DevicePluginService {
  private static final Logger LOG = LoggerFactory.getLogger(DevicePluginServer.class);
  private static final int LIST_LIMIT_MS = 20;

  /**
   * Limit for a second List, when the first one was late on a busy node. The kubelet sets no
   * deadline, and a pod on the wrong GPU costs more than a short delay of its sync loop.
   */
  private static final int SECOND_LIST_LIMIT_MS = 500;

  private final KubeletParts parts;
  private final NodeMetrics metrics;
  private final PodResourcesClient podResources;
  private final ReadBack readBack;
  private final ResourceCalls calls;
  private final boolean standalone;

  DevicePluginServer(
      KubeletParts parts, PodResourcesClient podResources, ReadBack readBack, ResourceCalls calls) {
    this.parts = parts;
    this.metrics = parts.metrics();
    this.podResources = podResources;
    this.readBack = readBack;
    this.calls = calls;
    this.standalone = parts.options().extender().isEmpty();
  }

  /** Binds the calls of this service except ListAndWatch, which has its own handler. */
  DevicePluginGrpcService.Builder bind() {
    return DevicePluginGrpcService.builder(this)
        .bind(
            DevicePluginGrpcService.GetDevicePluginOptions,
            DevicePluginGrpcService.GetPreferredAllocation,
            DevicePluginGrpcService.Allocate,
            DevicePluginGrpcService.PreStartContainer);
  }

  void update(Replicas now) {
    calls.update(now, MonotonicClock.ms());
  }

  static DevicePluginOptions options() {
    return DevicePluginOptions.newBuilder().setGetPreferredAllocationAvailable(true).build();
  }

  @Override
  public Future<DevicePluginOptions> getDevicePluginOptions(Empty request) {
    return Future.succeededFuture(options());
  }

  @Override
  public Future<PreferredAllocationResponse> getPreferredAllocation(
      PreferredAllocationRequest request) {
    long startNs = System.nanoTime();
    readBack.pauseUntilAllocate(MonotonicClock.ms());
    return listPods()
        .map(list -> prefer(request, list))
        .onComplete(answer -> metrics.rpc("GetPreferredAllocation", System.nanoTime() - startNs));
  }

  /**
   * Lists the pods, to find the one that is being admitted. Empty if the kubelet is late, or if the
   * plugin is stand-alone and gets no assignments.
   */
  private Future<Optional<PodList>> listPods() {
    return standalone
        ? Future.succeededFuture(Optional.empty())
        : whileIdle(podResources.list(LIST_LIMIT_MS), LIST_LIMIT_MS)
            .recover(late -> listAgain())
            .map(Optional::of)
            .otherwise(Optional.empty());
  }

  private Future<PodList> whileIdle(Future<PodList> list, int limitMs) {
    return Future.all(list, readBack.awaitIdle(limitMs)).map(both -> both.resultAt(0));
  }

  private Future<PodList> listAgain() {
    metrics.count(
        "tranche.node.lists.repeated",
        "Calls of the kubelet's PodResources List that were late and repeated.");
    return whileIdle(podResources.listAgain(SECOND_LIST_LIMIT_MS), SECOND_LIST_LIMIT_MS);
  }

  private PreferredAllocationResponse prefer(
      PreferredAllocationRequest request, Optional<PodList> list) {
    var response = PreferredAllocationResponse.newBuilder();
    for (ContainerPreferredAllocationRequest container : request.getContainerRequestsList()) {
      response.addContainerResponses(preferSafely(container, list));
    }
    return response.build();
  }

  // An error here ends the pod for good; an empty answer only leaves the choice to the kubelet.
  private ContainerPreferredAllocationResponse preferSafely(
      ContainerPreferredAllocationRequest container, Optional<PodList> list) {
    try {
      var preferred =
          standalone
              ? calls.preferStandalone(container, parts.hardware().get())
              : calls.prefer(container, list, parts.hardware().get(), MonotonicClock.ms());
      count(preferred);
      return ContainerPreferredAllocationResponse.newBuilder()
          .addAllDeviceIDs(preferred.answer().ids())
          .build();
    } catch (RuntimeException bug) {
      LOG.error("cannot answer GetPreferredAllocation", bug);
      metrics.count(PREFERRED, PREFERRED_HELP, "outcome", "failed", "pod", "unknown");
      return ContainerPreferredAllocationResponse.getDefaultInstance();
    }
  }

  private static final String PREFERRED = "tranche.node.preferred.allocations";
  private static final String PREFERRED_HELP =
      "Answers to the kubelet's GetPreferredAllocation, by the basis of the answer.";

  private void count(AllocationCalls.Preferred preferred) {
    String pod = preferred.found().map(f -> label(f.how())).orElse("unknown");
    metrics.count(
        PREFERRED, PREFERRED_HELP, "outcome", label(preferred.answer().outcome()), "pod", pod);
    LOG.info(
        "preferred {} ({}) for {}",
        preferred.answer().ids(),
        label(preferred.answer().outcome()),
        preferred.found().map(Object::toString).orElse("a pod without an assignment"));
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public Future<AllocateResponse> allocate(AllocateRequest request) {
    long startNs = System.nanoTime();
    try {
      return allocate(request, startNs);
    } catch (RuntimeException bug) {
      // Without an answer the kubelet would wait forever: it has no deadline.
      LOG.error("cannot answer Allocate", bug);
      return answered(startNs, "failed", failed("Tranche failed to decide: " + bug));
    }
  }

  private Future<AllocateResponse> allocate(AllocateRequest request, long startNs) {
    var response = AllocateResponse.newBuilder();
    for (ContainerAllocateRequest container : request.getContainerRequestsList()) {
      List<String> ids = container.getDevicesIdsList();
      switch (calls.allocate(ids, parts.hardware().get(), MonotonicClock.ms())) {
        case Allocation.Verdict.Granted granted -> {
          parts.listener().allocated();
          response.addContainerResponses(granted.response());
        }
        case Allocation.Verdict.Refused refused -> {
          LOG.warn("refused {} replicas: {}", ids.size(), refused.message());
          return answered(startNs, refused.outcome(), failed(refused.message()));
        }
      }
    }
    return answered(startNs, "granted", Future.succeededFuture(response.build()));
  }

  // NVIDIA's plugin returns the same status, so tools that read a pod's message find the known
  // text.
  private static Future<AllocateResponse> failed(String message) {
    return Future.failedFuture(new StatusException(GrpcStatus.UNKNOWN, message));
  }

  private Future<AllocateResponse> answered(
      long startNs, String outcome, Future<AllocateResponse> answer) {
    readBack.allocateAnswered(MonotonicClock.ms());
    metrics.count("tranche.node.allocations", "Allocate calls of the kubelet.", "outcome", outcome);
    metrics.rpc("Allocate", System.nanoTime() - startNs);
    return answer;
  }

  @Override
  public Future<PreStartContainerResponse> preStartContainer(PreStartContainerRequest request) {
    return Future.succeededFuture(PreStartContainerResponse.getDefaultInstance());
  }
}
