package dev.tranche.webhook.compat;

import dev.tranche.api.Names;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Translates HAMi's resources and annotations. In HAMi, {@code nvidia.com/gpu: N} is a number of
 * GPUs, and the resources beside it state how much of each.
 */
public final class HamiAnnotations {
  private static final String MEMORY = "nvidia.com/gpumem";
  private static final String MEMORY_PERCENTAGE = "nvidia.com/gpumem-percentage";
  private static final String CORES = "nvidia.com/gpucores";
  private static final String PRIORITY = "nvidia.com/priority";

  /** Resources that no node of ours has, so they are taken from containers. */
  public static final List<String> RESOURCES = List.of(MEMORY, MEMORY_PERCENTAGE, CORES, PRIORITY);

  /** The label that makes HAMi's webhook ignore a pod. */
  private static final String OPT_OUT = "hami.io/webhook";

  private static final String USE_TYPE = "nvidia.com/use-gputype";
  private static final String AVOID_TYPE = "nvidia.com/nouse-gputype";
  private static final String USE_UUID = "nvidia.com/use-gpuuuid";
  private static final String AVOID_UUID = "nvidia.com/nouse-gpuuuid";
  private static final String MODE = "nvidia.com/vgpu-mode";
  private static final List<String> IGNORED =
      List.of(
          "nvidia.com/numa-bind",
          "hami.io/node-scheduler-policy",
          "hami.io/device-scoring-weights");
  private static final String POLICY = "hami.io/gpu-scheduler-policy";
  private static final Map<String, String> PLACEMENTS =
      Map.of("binpack", "packed", "spread", "spread");

  /** What remains of the 63 characters of an annotation's name after our prefix. */
  private static final int CONTAINER_CHARS_MAX = 50;

  private final Translation pod;
  private final String resource;

  /** How many GPUs the first container has its share on; 0 before there is one. */
  private long gpus;

  HamiAnnotations(Translation pod, String resource) {
    this.pod = pod;
    this.resource = resource;
  }

  void read(PodView view) {
    if (pod.label(OPT_OUT).equals("ignore")) {
      return;
    }
    view.containers().forEach(this::container);
    list(USE_TYPE, AVOID_TYPE, Names.GPU_MODEL);
    list(USE_UUID, AVOID_UUID, Names.GPU_UUID);
    pod.annotation(POLICY).ifPresent(this::policy);
    pod.annotation(MODE).ifPresent(this::mode);
    IGNORED.forEach(key -> pod.annotation(key).ifPresent(value -> pod.ignore(key, value)));
  }

  /**
   * Translates a list, which may contain a placement and values for which we have no equivalent.
   */
  private void policy(String policy) {
    for (String part : policy.split(",", -1)) {
      if (pod.messages.isFull()) {
        return;
      }
      String placement = PLACEMENTS.get(part.strip());
      if (placement != null) {
        pod.translateUnlessPresent(POLICY, policy, Names.GPU_PLACEMENT, placement);
      } else {
        pod.ignore(POLICY, part.strip());
      }
    }
  }

  /**
   * Translates the isolation mode. The mode is a requirement: beside a share, mps becomes a
   * nodeSelector, and any mode but hami-core and mps is denied. The text may list several, and HAMi
   * takes a GPU of each mode that occurs in it.
   */
  private void mode(String mode) {
    boolean ignored = (gpus == 0 && !pod.requestsShare()) || mode.contains("hami-core");
    pod.translateMode(MODE, mode, ignored, mode.contains("mps"), "hami-core and mps");
  }

  private void container(Container container) {
    long memoryMib = container.requested(MEMORY);
    long percentage = container.requested(MEMORY_PERCENTAGE);
    long cores = container.requested(CORES);
    long priority = container.requested(PRIORITY);
    if (priority > 0) {
      pod.ignore(PRIORITY, String.valueOf(priority));
      Translation.drop(container, List.of(PRIORITY));
    }
    if (memoryMib == 0 && percentage == 0 && cores == 0) {
      return;
    }
    count(container, Math.max(1, container.requested(resource)));
    if (memoryMib > 0) {
      translate(container, MEMORY, memoryMib, Names.GPU_MEMORY, memoryMib + "Mi");
    } else if (percentage > 0) {
      translate(container, MEMORY_PERCENTAGE, percentage, Names.GPU_FRACTION, percentage + "%");
    } else {
      // HAMi gives such a container all of a GPU's memory; a share limits memory and compute alike.
      translate(container, CORES, cores, Names.GPU_FRACTION, "1");
    }
    if (cores > 0 && memoryMib + percentage > 0) {
      pod.ignore(CORES, String.valueOf(cores));
    }
    Translation.drop(container, List.of(MEMORY, MEMORY_PERCENTAGE, CORES, resource));
  }

  private void translate(
      Container container, String theirs, long value, String ours, String ourValue) {
    if (container.name().length() <= CONTAINER_CHARS_MAX) {
      String key = ours + "." + container.name();
      pod.translate(theirs, String.valueOf(value), key, ourValue);
    } else {
      pod.translate(theirs, String.valueOf(value), ours, ourValue);
      pod.translate(theirs, container.name(), Names.GPU_CONTAINER, container.name());
    }
  }

  private void count(Container container, long wanted) {
    if (gpus == 0) {
      gpus = wanted;
      // A number that says one GPU contradicts an annotation that says more.
      boolean stated = container.requested(resource) > 0;
      if (wanted > 1 || (stated && pod.annotation(Names.GPU_COUNT).isPresent())) {
        String count = String.valueOf(wanted);
        pod.translate(resource, count, Names.GPU_COUNT, count);
      }
    } else if (gpus != wanted) {
      pod.messages.deny(Denial.COMPAT_COUNTS_DIFFER, container.name(), wanted, gpus);
    }
  }

  private void list(String use, String avoid, String ours) {
    Stream<String> avoided = entries(avoid).map("!"::concat);
    String list = Stream.concat(entries(use), avoided).collect(Collectors.joining(","));
    if (!list.isEmpty()) {
      String theirs = pod.annotation(use).isPresent() ? use : avoid;
      pod.translateUnlessPresent(theirs, list, ours, list);
    }
  }

  private Stream<String> entries(String key) {
    return pod.annotation(key).stream()
        .flatMap(list -> Stream.of(list.split(",", RequestBounds.ALLOW_LIST_ENTRIES_MAX + 2)))
        .map(String::strip)
        .filter(entry -> !entry.isEmpty());
  }
}
