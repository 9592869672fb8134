package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.ReplicaId;
import dev.tranche.nodeplugin.config.Config;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The replicas that a config makes of the GPUs of this node, all under one resource. */
public record Replicas(Config config, List<GpuStatus> gpus) {
  public Replicas {
    gpus = List.copyOf(gpus);
  }

  public String resource() {
    return config.resource();
  }

  /** Replica ids by GPU, in NVML's order. */
  public Map<GpuStatus, List<String>> ids() {
    Map<GpuStatus, List<String>> ids = new LinkedHashMap<>();
    gpus.forEach(gpu -> ids.put(gpu, idsOf(gpu.info().uuid())));
    return ids;
  }

  private List<String> idsOf(String uuid) {
    if (!config.sharing().shared()) {
      return List.of(ReplicaId.unshared(uuid).toString());
    }
    List<String> ids = new ArrayList<>();
    for (int k = 0; k < config.sharing().replicas(); k++) {
      ids.add(new ReplicaId(uuid, k).toString());
    }
    return ids;
  }

  /** The GPU that an id is a replica of; empty if it is none of ours. */
  public Optional<GpuStatus> gpuOf(String id) {
    String uuid = ReplicaId.uuidOf(id);
    return gpus.stream()
        .filter(gpu -> gpu.info().uuid().equals(uuid))
        .filter(gpu -> made(id))
        .findFirst();
  }

  private boolean made(String id) {
    try {
      ReplicaId replica = ReplicaId.parse(id);
      return replica.shared() == config.sharing().shared()
          && replica.ordinal() < config.sharing().replicas();
    } catch (IllegalArgumentException malformed) {
      return false;
    }
  }

  public int count() {
    return gpus.size() * config.sharing().replicas();
  }

  public int healthyCount() {
    int healthy = (int) gpus.stream().filter(gpu -> gpu.health().healthy()).count();
    return healthy * config.sharing().replicas();
  }
}
