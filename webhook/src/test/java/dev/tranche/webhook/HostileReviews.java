package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.tranche.process.Heap;
import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.mutate.PodUpdate;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.review.FractionHandler;
import dev.tranche.webhook.review.GuardHandler;
import dev.tranche.webhook.review.ReviewHandler;
import dev.tranche.webhook.review.UpdateHandler;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The process that {@link HostileReviewsIT} starts with the options of the image. It reads and
 * judges hostile bodies while all the room that bodies may have is taken, and beside 5,000 nodes.
 * It ends with an error where a review allocates more than the stated multiple of its bytes, and by
 * its options where memory runs out.
 */
final class HostileReviews {
  private static final int SHOWN_BYTES = 400;
  private static final int SMALL_BYTES = 250_000;
  private static final int NODES = 5_000;

  /** What one review allocates: this much, and so many times its bytes. */
  private static final long ALLOCATED_BASE_BYTES = 40L << 20;

  private static final long ALLOCATED_PER_BYTE = 12;

  private final List<ReviewHandler> entries = new ArrayList<>();
  private long worstPerByte;
  private String worstMemory = "";

  private HostileReviews() {
    var metrics = new WebhookMetrics(new SimpleMeterRegistry());
    var events = new AdmissionEvents(new KubernetesClientBuilder().build(), metrics);
    List<GpuNode> nodes = IntStream.range(0, NODES).mapToObj(HostileReviews::node).toList();
    var mutator = new PodMutator(Reviews.RULES);
    entries.add(new FractionHandler(mutator, uid -> Reviews.cluster(nodes), events, metrics));
    var rules = Reviews.guardRules(GuardMode.VOID, true);
    var guard = new Guard(rules, node -> Set.of("nvidia.com/gpu"));
    for (GuardMode mode : GuardMode.values()) {
      entries.add(new GuardHandler(guard, mode, events, metrics));
    }
    entries.add(
        new UpdateHandler(
            (before, after) -> PodUpdate.restore(before, after, Reviews.RULES), metrics));
    entries.add(new UpdateHandler(guard::restore, metrics));
  }

  private static GpuNode node(int number) {
    return Reviews.node(
        "node-" + number,
        "kubernetes.io/hostname",
        "node-" + number,
        "tranche.dev/replicas-per-gpu",
        "10",
        "nvidia.com/gpu.count",
        "8",
        "nvidia.com/gpu.memory",
        "15360",
        "nvidia.com/gpu.product",
        "Tesla-T" + number % 40);
  }

  /**
   * @param args how many bytes other bodies take; bodies come by standard input, each after its
   *     length
   */
  public static void main(String[] args) throws IOException {
    var others = new byte[Integer.parseInt(args[0])];
    var reviews = new HostileReviews();
    var in = new DataInputStream(new BufferedInputStream(System.in));
    int count = 0;
    for (int length = in.readInt(); length > 0; length = in.readInt()) {
      var body = new byte[length];
      in.readFully(body);
      reviews.review(body);
      count++;
    }
    System.out.printf(
        "%d bodies beside %d bytes of others; at most %d bytes allocated per byte (%s)%n",
        count, others.length, reviews.worstPerByte, reviews.worstMemory);
  }

  private void review(byte[] body) {
    for (ReviewHandler entry : entries) {
      long before = Heap.allocatedBytes();
      entry.review(body);
      long allocated = Heap.allocatedBytes() - before;
      String what =
          "%s: %d bytes: %s"
              .formatted(entry.getClass().getSimpleName(), body.length, beginning(body));
      if (allocated > ALLOCATED_BASE_BYTES + ALLOCATED_PER_BYTE * body.length) {
        System.out.printf("%s allocated %d bytes%n", what, allocated);
        System.exit(1);
      }
      long perByte = allocated / Math.max(body.length, SMALL_BYTES);
      if (perByte > worstPerByte) {
        worstPerByte = perByte;
        worstMemory = what;
      }
    }
  }

  private static String beginning(byte[] body) {
    return new String(body, 0, Math.min(SHOWN_BYTES, body.length), ISO_8859_1);
  }
}
