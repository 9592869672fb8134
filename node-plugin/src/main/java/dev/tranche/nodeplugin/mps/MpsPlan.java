package dev.tranche.nodeplugin.mps;

import static java.util.stream.Collectors.joining;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The control daemons that a node needs, resource by resource; none where nothing is shared by MPS.
 * The plugin writes it to a file, which the keeper of the daemons reads.
 */
public record MpsPlan(List<MpsSet> sets) {
  /** The file's name in the state folder. */
  public static final String FILE = "mps-plan";

  public static final MpsPlan NONE = new MpsPlan(List.of());

  /**
   * Picks the GPUs that are shared by MPS.
   *
   * @param sharing of every GPU, by uuid
   * @param gpus in NVML's order
   * @param standAlone whether there is no extender that assigns shares of several replicas
   */
  public static MpsPlan of(
      Map<String, GpuSharing> sharing, List<GpuInfo> gpus, boolean standAlone) {
    Map<String, List<MpsGpu>> byResource = new TreeMap<>();
    boolean oneReplicaEach = standAlone;
    for (GpuInfo gpu : gpus) {
      GpuSharing how = sharing.get(gpu.uuid());
      if (how != null && how.strategy() == SharingStrategy.MPS) {
        oneReplicaEach &= how.failRequestsGreaterThanOne();
        byResource
            .computeIfAbsent(how.resource(), r -> new ArrayList<>())
            .add(new MpsGpu(gpu.uuid(), gpu.memoryTotalBytes(), how.replicas()));
      }
    }
    List<MpsSet> sets = new ArrayList<>();
    for (var of : byResource.entrySet()) {
      boolean all = of.getValue().size() == gpus.size();
      sets.add(new MpsSet(of.getKey(), of.getValue(), oneReplicaEach, all));
    }
    return new MpsPlan(sets);
  }

  /**
   * Returns the sharing of a node whose control daemon does not serve: its MPS GPUs are whole.
   *
   * @param sharing of every GPU, by uuid
   * @param config names unshared GPUs
   */
  public static Map<String, GpuSharing> withoutMps(
      Map<String, GpuSharing> sharing, Config config, List<GpuInfo> gpus) {
    Map<String, GpuSharing> without = new HashMap<>(sharing);
    for (GpuInfo gpu : gpus) {
      GpuSharing how = sharing.get(gpu.uuid());
      if (how != null && how.strategy() == SharingStrategy.MPS) {
        without.put(gpu.uuid(), GpuSharing.unshared(config.resources().ofGpu(gpu.model())));
      }
    }
    return without;
  }

  /** Returns the file's text, a line for each GPU. */
  public String text() {
    return sets.stream()
        .flatMap(set -> set.gpus().stream().map(gpu -> line(set, gpu)))
        .collect(joining());
  }

  private static String line(MpsSet set, MpsGpu gpu) {
    return "%s %s %d %d %b %b\n"
        .formatted(
            set.resource(),
            gpu.uuid(),
            gpu.memoryBytes(),
            gpu.replicas(),
            set.oneReplicaEach(),
            set.allGpus());
  }

  /**
   * Parses the file's text.
   *
   * @throws IOException if another version of the plugin has written it in another format
   */
  public static MpsPlan parse(String text) throws IOException {
    Map<String, MpsSet> sets = new LinkedHashMap<>();
    try {
      for (String line : text.lines().toList()) {
        String[] of = line.split(" ", -1);
        var gpu = new MpsGpu(of[1], Long.parseLong(of[2]), Integer.parseInt(of[3]));
        boolean oneReplicaEach = Boolean.parseBoolean(of[4]);
        boolean allGpus = Boolean.parseBoolean(of[5]);
        sets.merge(of[0], new MpsSet(of[0], List.of(gpu), oneReplicaEach, allGpus), MpsSet::plus);
      }
    } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
      throw new IOException("no plan for MPS control daemons: " + e, e);
    }
    return new MpsPlan(List.copyOf(sets.values()));
  }

  /**
   * Returns whether the daemons of this plan can stay for that one: its GPUs are the same, or only
   * lack some that NVML does not list.
   *
   * @param listed uuids of the GPUs that NVML lists
   */
  public boolean covers(MpsPlan now, Set<String> listed) {
    List<MpsGpu> planned = now.gpus();
    return now.sets.stream().allMatch(set -> sets.stream().anyMatch(own -> own.covers(set)))
        && gpus().stream().allMatch(gpu -> planned.contains(gpu) || !listed.contains(gpu.uuid()));
  }

  public boolean needed() {
    return !sets.isEmpty();
  }

  List<MpsGpu> gpus() {
    return sets.stream().flatMap(set -> set.gpus().stream()).toList();
  }

  /**
   * Returns what plugin and daemon must agree on, a line for each GPU: uuid, replicas, resource.
   */
  public List<String> lines() {
    return sets.stream()
        .flatMap(
            set ->
                set.gpus().stream().map(g -> g.uuid() + " " + g.replicas() + " " + set.resource()))
        .toList();
  }
}
