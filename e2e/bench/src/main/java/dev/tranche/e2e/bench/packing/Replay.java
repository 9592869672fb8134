package dev.tranche.e2e.bench.packing;

import java.util.List;
import java.util.function.BiPredicate;

/**
 * How full the GPUs got: the percentage of all GPUs that the placed pods request.
 *
 * @param alloc100 when the requests so far equalled the cluster's GPUs
 * @param alloc130 in the end
 * @param bigPodsPlaced the percentage placed, of the pods with several GPUs that came before 90 %
 *     was requested
 */
public record Replay(double alloc100, double alloc130, double bigPodsPlaced) {
  private static final double EARLY = 0.9;
  private static final int PROGRESS_PODS = 500;

  /**
   * Offers each pod once, in order.
   *
   * @param offer takes a pod's number and the pod, and returns whether it was placed
   */
  static Replay of(
      List<Trace.Pod> arrivals, long totalMilli, BiPredicate<Integer, Trace.Pod> offer) {
    long asked = 0;
    long placed = 0;
    double alloc100 = -1;
    int big = 0;
    int bigPlaced = 0;
    for (int i = 0; i < arrivals.size(); i++) {
      Trace.Pod pod = arrivals.get(i);
      boolean earlyBig = pod.gpus() > 1 && asked < EARLY * totalMilli;
      asked += pod.totalMilli();
      if (alloc100 < 0 && asked > totalMilli) {
        alloc100 = 100.0 * placed / totalMilli;
      }
      boolean bound = offer.test(i, pod);
      placed += bound ? pod.totalMilli() : 0;
      big += earlyBig ? 1 : 0;
      bigPlaced += earlyBig && bound ? 1 : 0;
      if ((i + 1) % PROGRESS_PODS == 0) {
        System.err.printf("%d pods: %.2f %% allocated%n", i + 1, 100.0 * placed / totalMilli);
      }
    }
    double alloc130 = 100.0 * placed / totalMilli;
    return new Replay(
        alloc100 < 0 ? alloc130 : alloc100, alloc130, big == 0 ? 100 : 100.0 * bigPlaced / big);
  }
}
