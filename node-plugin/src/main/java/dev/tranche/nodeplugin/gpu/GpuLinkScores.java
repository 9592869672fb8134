package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuLink;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How near GPUs are to each other: NVIDIA's points, 100 for each NVLink and 10 to 60 for what their
 * PCIe paths have in common.
 *
 * @param points by uuid and uuid; both directions are there
 */
public record GpuLinkScores(Map<String, Map<String, Integer>> points) {
  /** Nothing is known: all GPUs are equally near. */
  public static final GpuLinkScores UNKNOWN = new GpuLinkScores(Map.of());

  private static final int POINTS_PER_NVLINK = 100;

  public GpuLinkScores {
    points = Map.copyOf(points);
  }

  /** Asks NVML for every pair; what it does not tell is taken from the NUMA nodes. */
  public static GpuLinkScores measure(Nvml nvml, List<GpuInfo> gpus) {
    Map<String, Map<String, Integer>> points = new HashMap<>();
    for (GpuInfo gpu : gpus) {
      Map<String, Integer> toOthers = new HashMap<>();
      for (GpuInfo other : gpus) {
        if (other.index() != gpu.index()) {
          toOthers.put(other.uuid(), points(link(nvml, gpu, other), gpu, other));
        }
      }
      points.put(gpu.uuid(), Map.copyOf(toOthers));
    }
    return new GpuLinkScores(points);
  }

  // It decides only who sits beside whom: not worth a GPU.
  private static GpuLink link(Nvml nvml, GpuInfo gpu, GpuInfo other) {
    try {
      return nvml.link(gpu.index(), other.index());
    } catch (NvmlException untold) {
      return GpuLink.UNKNOWN;
    }
  }

  private static int points(GpuLink link, GpuInfo gpu, GpuInfo other) {
    int pcie =
        switch (link.ancestor()) {
          case BOARD -> 60;
          case ONE_SWITCH -> 50;
          case SEVERAL_SWITCHES -> 40;
          case HOST_BRIDGE -> 30;
          case NUMA_NODE -> 20;
          case SYSTEM -> 10;
          case UNKNOWN -> gpu.numaNode() >= 0 && gpu.numaNode() == other.numaNode() ? 20 : 10;
        };
    return link.nvLinks() * POINTS_PER_NVLINK + pcie;
  }

  /** The points of a pair; 0 for a GPU and itself, and for GPUs that are not known. */
  public int between(String uuid, String other) {
    return points.getOrDefault(uuid, Map.of()).getOrDefault(other, 0);
  }
}
