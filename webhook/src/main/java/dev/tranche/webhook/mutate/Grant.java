package dev.tranche.webhook.mutate;

import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Request;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.math.BigDecimal;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The replicas that one container is granted for its request.
 *
 * @param replicasPerGpu R
 * @param usableBytes usable memory of one GPU; 0 if no container requests memory
 * @param shareReplicas ⌈f·R⌉, the replicas on each of its GPUs
 * @param replicas the replicas on all of its GPUs
 */
record Grant(
    Request request, int replicasPerGpu, long usableBytes, int shareReplicas, int replicas) {
  /**
   * @param usableBytes usable memory of one GPU, at least the largest request
   */
  static List<Grant> of(GpuRequests requests, int replicasPerGpu, long usableBytes) {
    return requests.requests().stream()
        .map(
            request -> {
              int share = part(request.wanted(), usableBytes).replicas(replicasPerGpu);
              int gpus =
                  request.wanted() instanceof Wanted.Gpus(int whole) ? whole : requests.count();
              int replicas = Math.multiplyExact(share, gpus);
              return new Grant(request, replicasPerGpu, usableBytes, share, replicas);
            })
        .toList();
  }

  /** Returns what is wanted of each GPU. */
  private static GpuPart part(Wanted wanted, long usableBytes) {
    return switch (wanted) {
      case Wanted.Share(GpuPart part) -> part;
      case Wanted.Memory(long bytes) -> GpuPart.of(bytes, usableBytes);
      case Wanted.Gpus gpus -> GpuPart.of(1, 1);
    };
  }

  Container container() {
    return request.container();
  }

  /** Returns the whole GPUs of a plain request, or 0 for a share. */
  int wholeGpus() {
    return request.wanted() instanceof Wanted.Gpus(int gpus) ? gpus : 0;
  }

  boolean roundedUp() {
    return !part(request.wanted(), usableBytes).exactIn(replicasPerGpu);
  }

  /** The share that is granted on each GPU: a decimal, or a ratio where that has no end. */
  String fraction() {
    try {
      return BigDecimal.valueOf(shareReplicas)
          .divide(BigDecimal.valueOf(replicasPerGpu))
          .stripTrailingZeros()
          .toPlainString();
    } catch (ArithmeticException endless) {
      return shareReplicas + "/" + replicasPerGpu;
    }
  }

  /** Says that the share was rounded up, or that GPUs are written as replicas. */
  void warn(Messages messages) {
    String container = container().name();
    String text = request.text();
    int r = replicasPerGpu;
    switch (request.wanted()) {
      case Wanted.Gpus(int gpus) ->
          messages.warn(
              Warning.WHOLE_GPUS, container, request.key(), gpus, replicas, r, Names.GPU_FRACTION);
      case Wanted.Share(GpuPart share) ->
          messages.warn(Warning.ROUNDED_UP, container, text, fraction(), r, exactWith(share));
      case Wanted.Memory memory ->
          messages.warn(
              Warning.MEMORY_ROUNDED_UP, container, text, fraction(), of(usableBytes) >> 20, r);
    }
  }

  /** Names the first of some usual numbers of replicas in which a share is exact. */
  private static String exactWith(GpuPart share) {
    return IntStream.of(20, 60, 100)
        .filter(share::exactIn)
        .mapToObj("; with %d replicas it is exact"::formatted)
        .findFirst()
        .orElse("");
  }

  /** Returns this share of a GPU's memory. */
  long of(long wholeGpu) {
    return GpuPart.of(shareReplicas, replicasPerGpu).of(wholeGpu);
  }
}
