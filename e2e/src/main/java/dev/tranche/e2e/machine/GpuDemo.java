package dev.tranche.e2e.machine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.List;

/**
 * Three pods share the GPU of this machine, a fourth waits for memory that is used beyond a grant,
 * and starts when that memory is free. Then limits of memory and of threads, as far as there are.
 */
public final class GpuDemo {
  private final GpuNode node;

  private GpuDemo(GpuNode node) {
    this.node = node;
  }

  /** {@code GpuDemo KUBECONFIG OPTION...}: see {@link GpuNode#connect}. */
  public static void main(String[] args) throws Exception {
    try (var node = GpuNode.connect(args)) {
      new GpuDemo(node).run();
    } catch (AssertionError | KubernetesClientException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(1);
    }
    System.exit(0);
  }

  private void run() throws InterruptedException {
    print("waiting for the parts of Tranche to be ready");
    node.awaitReady();
    JsonNode gpu = node.gpus().path(0);
    long totalMib = GpuNode.mib(gpu.path("memory"));
    print(
        "%s with %d MiB, %s shares"
            .formatted(gpu.path("model").asText(), totalMib, gpu.path("replicas")));

    print("three pods, 0.3, 0.3 and 0.2 of the GPU; \"greedy\" takes more memory than its share");
    List<GpuLoad> loads = GpuLoad.three(totalMib);
    loads.forEach(load -> node.create(load, GpuNode.FIRST));
    node.awaitPod(loads.getFirst().name(), GpuNode::isRunning);
    print("the first pod runs %d s after the start".formatted(GpuNode.secondsSinceStart()));
    loads.forEach(load -> node.awaitPod(load.name(), GpuNode::isRunning));
    if (node.limitsMemory()) {
      loads.forEach(load -> node.awaitPod(load.name(), _ -> !node.limited(load.name()).isEmpty()));
    }
    print("measuring for %d s".formatted(node.measured().toSeconds()));
    Thread.sleep(node.measured());
    System.out.print(table());

    print("a fourth pod, 0.2 of the GPU: that share is free, the memory for it is not");
    node.create(GpuLoad.late(totalMib), GpuNode.FIRST);
    node.awaitPod("late", _ -> !node.reason("late").isEmpty());
    System.out.println("  " + node.reason("late"));
    print("\"greedy\" frees its memory");
    node.release("greedy");
    node.awaitPod("late", GpuNode::isRunning);
    node.awaitPod("late", _ -> node.usedMib("late") > 0);
    Thread.sleep(node.measured());
    System.out.print(table());
    if (node.limitsMemory()) {
      memoryLimit(totalMib);
    }
    if (node.sharesByMps()) {
      threadLimits();
    }
  }

  private void memoryLimit(long totalMib) {
    print("\"beyond\" takes half of the GPU's memory, with a share of 0.2 and the driver's limit");
    node.client().pods().withName("greedy").delete();
    node.create(GpuLoad.beyond(totalMib), GpuNode.FIRST);
    System.out.println("  " + node.error("beyond"));
  }

  private void threadLimits() {
    int all = node.multiprocessors("steady");
    print("the same GPU, shared by MPS");
    node.shareByMps();
    for (GpuLoad load : GpuLoad.byMps()) {
      node.create(load, GpuNode.FIRST);
      System.out.printf(
          "  %-9s %-6s sees %d of %d multiprocessors%n",
          load.name(), load.fraction(), node.multiprocessors(load.name()), all);
    }
  }

  private String table() {
    var table = new StringBuilder();
    table.append(
        "  POD       SHARE  GPU THAT THE PROGRAM SEES                      MEMORY USED  SM   "
            + " LIMITED  LIMITS THAT IT READS\n");
    for (JsonNode pod : node.rows()) {
      String name = pod.path("name").asText();
      table.append(
          "  %-9s %-6s %-46s %7d MiB  %-5s %-8s %s%n"
              .formatted(
                  name,
                  pod.at("/granted/gpus").asText(),
                  node.visible(name),
                  GpuNode.mib(pod.at("/used/memory")),
                  pod.at("/used/gpus").asText(),
                  pod.at("/gpus/0/limited").asText("-"),
                  node.limitsRead(name)));
    }
    return table.toString();
  }

  private static void print(String line) {
    System.out.println("\n" + line);
  }
}
