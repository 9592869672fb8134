package dev.tranche.e2e.bench.soak;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Tranche;
import dev.tranche.e2e.kubelet.KubeletTruth;
import dev.tranche.extender.invariant.ObservedCluster;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads what the kubelets, the API server and the extenders say of the cluster. */
final class Observer {
  private final Tranche tranche;
  private final PodWatch watch;
  private final Violations violations;

  Observer(Tranche tranche, PodWatch watch, Violations violations) {
    this.tranche = tranche;
    this.watch = watch;
    this.violations = violations;
  }

  /**
   * Returns the pods with what the kubelets have given to them, without holds. Kubelets that do not
   * answer are left out.
   */
  ObservedCluster cluster() {
    return new ObservedCluster(pods(false), List.of());
  }

  /**
   * Returns the cluster for each extender, with the holds that it records; empty unless all
   * kubelets and extenders answer. To be called while nothing fails and no pod comes or goes.
   */
  List<ObservedCluster> calmClusters() {
    List<ObservedCluster.Pod> pods = pods(true);
    try {
      var extenders = tranche.parts("extender");
      var answers = LocalApi.all(tranche.client(), extenders, "/api/v1/gpus?limit=500");
      return answers.size() < extenders.size()
          ? List.of()
          : answers.stream()
              .map(answer -> new ObservedCluster(pods, holds(answer.json())))
              .toList();
    } catch (KubernetesClientException | IllegalStateException notYet) {
      return List.of();
    }
  }

  private List<ObservedCluster.Pod> pods(boolean withFits) {
    Map<String, Map<String, GpuPart>> allocated = new HashMap<>();
    Map<String, Map<String, Integer>> freeByNode = new HashMap<>();
    boolean complete = true;
    for (String node : tranche.nodes()) {
      Optional<KubeletTruth> kubelet = kubelet(node);
      complete &= kubelet.isPresent();
      kubelet.ifPresent(truth -> freeByNode.put(node, read(node, truth, allocated)));
    }
    boolean judgesFits = withFits && complete;
    return watch.pods().stream()
        .map(
            pod ->
                watch.observed(
                    pod,
                    allocated.getOrDefault(SoakPod.key(pod), Map.of()),
                    judgesFits ? fitsOn(pod, freeByNode) : null))
        .toList();
  }

  private Optional<KubeletTruth> kubelet(String node) {
    try {
      return Optional.of(KubeletTruth.of(tranche.podResourcesSocket(node)));
    } catch (AssertionError | Exception silent) {
      // Vert.x throws checked exceptions, too.
      return Optional.empty();
    }
  }

  /** Adds what a node's pods have, and returns its free replicas by GPU. */
  private Map<String, Integer> read(
      String node, KubeletTruth truth, Map<String, Map<String, GpuPart>> allocated) {
    var free = new HashMap<String, Integer>();
    for (int i = 0; i < tranche.gpus(node).count(); i++) {
      free.put(tranche.gpus(node).uuid(i), Tranche.REPLICAS_PER_GPU);
    }
    Set<String> given = new HashSet<>();
    for (PodResources pod : truth.response().getPodResourcesList()) {
      String key = pod.getNamespace() + "/" + pod.getName();
      for (String id : devices(pod)) {
        String uuid = ReplicaId.uuidOf(id);
        if (!given.add(id)) {
          violations.add("device_given_twice", id, "the kubelet of " + node + " lists it twice");
        }
        free.merge(uuid, -1, Integer::sum);
        allocated
            .computeIfAbsent(key, unknown -> new HashMap<>())
            .merge(uuid, GpuPart.of(1, Tranche.REPLICAS_PER_GPU), GpuPart::plus);
      }
    }
    return free;
  }

  private static List<String> devices(PodResources pod) {
    return pod.getContainersList().stream()
        .flatMap(container -> container.getDevicesList().stream())
        .filter(devices -> devices.getResourceName().equals(Names.RESOURCE))
        .flatMap(devices -> devices.getDeviceIdsList().stream())
        .toList();
  }

  /** Returns a node with as many free GPUs as a waiting pod needs, each with enough replicas. */
  private static @Nullable String fitsOn(Pod pod, Map<String, Map<String, Integer>> freeByNode) {
    if (pod.getSpec().getNodeName() != null || SoakPod.requests(pod).isEmpty()) {
      return null;
    }
    List<Integer> needs = new ArrayList<>(SoakPod.needs(pod));
    needs.sort((a, b) -> b - a);
    for (var node : freeByNode.entrySet()) {
      List<Integer> free = new ArrayList<>(node.getValue().values());
      free.sort((a, b) -> b - a);
      boolean fits = needs.size() <= free.size();
      for (int i = 0; fits && i < needs.size(); i++) {
        fits = needs.get(i) <= free.get(i);
      }
      if (fits) {
        return node.getKey();
      }
    }
    return null;
  }

  private static List<ObservedCluster.Hold> holds(JsonNode answer) {
    Map<String, Map<String, GpuPart>> parts = new HashMap<>();
    Map<String, String> keys = new HashMap<>();
    Map<String, String> nodes = new HashMap<>();
    answer
        .get("items")
        .forEach(
            gpu ->
                gpu.get("holders")
                    .forEach(
                        holder -> {
                          String uid = holder.get("uid").asText();
                          keys.put(
                              uid,
                              holder.get("namespace").asText() + "/" + holder.get("name").asText());
                          nodes.put(uid, gpu.get("node").asText());
                          parts
                              .computeIfAbsent(uid, unknown -> new HashMap<>())
                              .merge(
                                  gpu.get("uuid").asText(),
                                  GpuPart.of(
                                      holder.get("replicas").asInt(),
                                      holder.get("replicasPerGpu").asInt()),
                                  GpuPart::plus);
                        }));
    return parts.entrySet().stream()
        .map(
            of ->
                new ObservedCluster.Hold(
                    of.getKey(),
                    keys.getOrDefault(of.getKey(), ""),
                    nodes.getOrDefault(of.getKey(), ""),
                    of.getValue()))
        .toList();
  }
}
