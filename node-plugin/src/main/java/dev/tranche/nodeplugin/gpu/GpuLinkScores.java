package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuLink;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How closely GPUs are linked, in NVIDIA's points: 100 for each NVLink, and 10 to 60 for the common
 * ancestor of their PCIe paths.
 *
 * @param points by the uuids of both GPUs, in both orders
 */
public record GpuLinkScores(Map<List<String>, Integer> points) {
  /** Nothing is known: all GPUs are equally close. */
  public static final GpuLinkScores UNKNOWN = new GpuLinkScores(Map.of());

  private static final int POINTS_PER_NVLINK = 100;

  /** Each of NVML's levels farther away, which are ten apart, has ten less. */
  private static final int POINTS_OF_ONE_BOARD = 60;

  /** Measures every pair with NVML; the NUMA nodes decide where NVML does not tell. */
  public static GpuLinkScores measure(Nvml nvml, List<GpuInfo> gpus) {
    Map<List<String>, Integer> points = new HashMap<>();
    for (GpuInfo gpu : gpus) {
      for (GpuInfo other : gpus) {
        if (other.index() != gpu.index()) {
          points.put(List.of(gpu.uuid(), other.uuid()), points(link(nvml, gpu, other), gpu, other));
        }
      }
    }
    return new GpuLinkScores(points);
  }

  // A link only decides which GPUs go together, so a failure must not cost a GPU.
  private static GpuLink link(Nvml nvml, GpuInfo gpu, GpuInfo other) {
    try {
      return nvml.link(gpu.index(), other.index());
    } catch (NvmlException unavailable) {
      return GpuLink.UNKNOWN;
    }
  }

  private static int points(GpuLink link, GpuInfo gpu, GpuInfo other) {
    boolean oneNode = gpu.numaNode() >= 0 && gpu.numaNode() == other.numaNode();
    int byNode = oneNode ? GpuLink.ONE_NODE : GpuLink.SYSTEM;
    int level = link.level() == GpuLink.UNKNOWN_LEVEL ? byNode : link.level();
    return link.nvLinks() * POINTS_PER_NVLINK + POINTS_OF_ONE_BOARD - level;
  }

  /** Returns the points of a pair; 0 for a GPU and itself, and for unknown GPUs. */
  public int between(String uuid, String other) {
    return points.getOrDefault(List.of(uuid, other), 0);
  }
}
