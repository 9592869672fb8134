package dev.tranche.e2e.bench.plane;

import dev.tranche.api.BriefReports;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import dev.tranche.api.node.PodUse;
import io.vertx.core.Future;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientRequest;
import io.vertx.grpc.common.GrpcMessageDecoder;
import io.vertx.grpc.common.GrpcMessageEncoder;
import io.vertx.grpc.common.ServiceMethod;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A node as an extender sees it, which reports over the real stream. It takes assigned replicas at
 * once, as a kubelet that follows the assignment does, and holds them until the pod has ended.
 * Confined to one event loop.
 */
public final class SimulatedNode {
  private static final ServiceMethod<NodeDirective, NodeReport> CONNECT =
      ServiceMethod.client(
          NodeReportsGrpcService.SERVICE_NAME,
          "Connect",
          GrpcMessageEncoder.encoder(),
          GrpcMessageDecoder.decoder(NodeDirective.newBuilder()));

  private final String name;
  private final Map<String, Gpu> gpus = new LinkedHashMap<>();
  private final Map<String, BitSet> taken = new LinkedHashMap<>();
  private final Map<String, List<Holding>> holdings = new LinkedHashMap<>();

  private @Nullable GrpcClientRequest<NodeReport, NodeDirective> call;
  private long sequence;
  private long applied;
  private final BriefReports brief = new BriefReports();

  SimulatedNode(String name, List<Gpu> gpus) {
    this.name = name;
    gpus.forEach(gpu -> this.gpus.put(gpu.getUuid(), gpu));
  }

  Future<Void> connect(GrpcClient client, SocketAddress extender, String token) {
    return client
        .request(extender, CONNECT)
        .map(
            opened -> {
              call = opened;
              opened.headers().set("authorization", "Bearer " + token);
              opened.response().onSuccess(response -> response.handler(this::onDirective));
              report();
              return null;
            });
  }

  private void onDirective(NodeDirective directive) {
    directive.getAssignList().forEach(this::take);
    directive.getRetractPodUidsList().forEach(this::release);
    applied = directive.getSequence();
    report();
  }

  private void take(Assignment assignment) {
    if (!holdings.containsKey(assignment.getPodUid())) {
      hold(assignment);
    }
  }

  /** Takes replicas for a pod, which the kubelet lists from now on. */
  void hold(Assignment assignment) {
    var held = new ArrayList<Holding>();
    for (ContainerAssignment container : assignment.getContainersList()) {
      var holding =
          Holding.newBuilder()
              .setNamespace(assignment.getNamespace())
              .setPod(assignment.getPod())
              .setContainer(container.getContainer())
              .setResource(assignment.getResource());
      container.getSharesList().forEach(share -> take(share, holding));
      held.add(holding.build());
    }
    holdings.put(assignment.getPodUid(), held);
  }

  private void take(GpuShare share, Holding.Builder holding) {
    BitSet replicas = taken.computeIfAbsent(share.getUuid(), uuid -> new BitSet());
    for (int i = 0; i < share.getReplicas(); i++) {
      int free = replicas.nextClearBit(0);
      replicas.set(free);
      holding.addDeviceIds(ReplicaId.of(share.getUuid(), free));
    }
  }

  private void release(String uid) {
    List<Holding> held = holdings.remove(uid);
    if (held == null) {
      return;
    }
    for (Holding holding : held) {
      for (String id : holding.getDeviceIdsList()) {
        BitSet replicas = taken.get(ReplicaId.uuidOf(id));
        if (replicas != null) {
          replicas.clear(Integer.parseInt(id.substring(id.lastIndexOf(':') + 1)));
        }
      }
    }
  }

  /** Ends a pod, frees what it held, and reports that. */
  void endPod(String uid) {
    release(uid);
    report();
  }

  /** Sets the load that is measured from now on, and the pods that cause it. */
  void load(String uuid, GpuLoad load, List<PodUse> uses) {
    gpus.computeIfPresent(
        uuid,
        (key, gpu) -> gpu.toBuilder().setLoad(load).clearPodUses().addAllPodUses(uses).build());
  }

  /** Gives the reading a new time, since every report of a plugin has a new reading. */
  private static Gpu sampled(Gpu gpu, long nowMs) {
    return gpu.hasLoad()
        ? gpu.toBuilder().setLoad(gpu.getLoad().toBuilder().setSampledAtMs(nowMs)).build()
        : gpu;
  }

  void report() {
    var open = call;
    if (open == null) {
      return;
    }
    long nowMs = System.currentTimeMillis();
    gpus.replaceAll((uuid, gpu) -> sampled(gpu, nowMs));
    var report =
        NodeReport.newBuilder()
            .setSequence(++sequence)
            .setSentAtMs(nowMs)
            .setNode(name)
            .setPluginInstance("1")
            .setRegistered(true)
            .setHoldingsKnown(true)
            .setHoldingsAgeMs(0)
            .setAppliedDirective(applied)
            .addAllGpus(gpus.values());
    holdings.values().forEach(report::addAllHoldings);
    open.write(brief.of(report.build()));
  }
}
