package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Answers made-up reviews before real ones arrive. Until the JVM has compiled the code, each of the
 * first thousand takes ten times as long as later ones. The warm-up takes about one second at most,
 * since the pod is needed as soon as it starts.
 */
public final class WarmUp {
  private static final int ROUNDS_MAX = 2_000;
  private static final long NANOS_MAX = TimeUnit.SECONDS.toNanos(1);
  private static final int VARIABLES = 60;

  private WarmUp() {}

  /**
   * @param entries handlers with metrics that nobody reads; the reviews are dry runs, so no Event
   *     is written
   */
  public static void run(Collection<ReviewHandler> entries) {
    long startNanos = System.nanoTime();
    List<byte[]> reviews = reviews();
    for (int round = 0; round < ROUNDS_MAX; round++) {
      for (byte[] review : reviews) {
        for (ReviewHandler entry : entries) {
          entry.review(review);
        }
      }
      if (System.nanoTime() - startNanos > NANOS_MAX) {
        return;
      }
    }
  }

  /** Returns the review of a pod that requests a share, and of one that does not. */
  static List<byte[]> reviews() {
    return List.of(
        review("\"tranche.dev/gpu-fraction\":\"0.3\""), review("\"example.com/owner\":\"web\""));
  }

  private static byte[] review(String annotation) {
    String variables =
        IntStream.range(0, VARIABLES)
            .mapToObj(
                "{\"name\":\"SETTING_%1$d\",\"value\":\"the value of setting %1$d\"}"::formatted)
            .collect(Collectors.joining(","));
    return """
        {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"warm-up",
        "resource":{"group":"","version":"v1","resource":"pods"},"namespace":"warm-up","operation":"CREATE",
        "object":{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"warm-up-","annotations":{%s}},
        "spec":{"containers":[{"name":"main","image":"example.com/warm-up","args":["--port=8000"],"env":[%s],
        "resources":{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"500m","memory":"4Gi"}},
        "volumeMounts":[{"name":"cache","mountPath":"/cache","readOnly":true}]}],
        "volumes":[{"name":"cache","emptyDir":{}}],"restartPolicy":"Always","priority":0}},"dryRun":true}}
        """
        .formatted(annotation, variables)
        .getBytes(UTF_8);
  }
}
