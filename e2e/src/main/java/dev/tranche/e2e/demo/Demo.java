package dev.tranche.e2e.demo;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Namespaces;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Brings a cluster up, makes some GPUs busy, submits example pods, and says why they went where.
 */
public final class Demo {
  private static final String NAMESPACE = "demo";
  private static final long STARTED_MS = System.currentTimeMillis();

  private Demo() {}

  /** {@code Demo <root of the repository> [up | load NODE GPU PERCENT]}. */
  public static void main(String[] args) throws Exception {
    Path root = Path.of(args[0]).toAbsolutePath().normalize();
    Path folder = root.resolve("target/demo");
    try {
      switch (args.length > 1 ? args[1] : "up") {
        case "load" -> load(folder, Arrays.asList(args).subList(2, args.length));
        default -> up(root, folder);
      }
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
    }
    // Clients and the shared containers keep threads of their own.
    System.exit(0);
  }

  private static void load(Path folder, List<String> arguments) throws IOException {
    if (arguments.size() != 3) {
      throw new IllegalArgumentException("write ./demo load NODE GPU PERCENT");
    }
    SimulatedLoad.set(folder, arguments.get(0), arguments.get(1), arguments.get(2));
    System.out.printf(
        "GPU %2$s of %3$s has a load of %1$s %%, beside that of its pods. ./demo watch shows it at"
            + " once; the mean that placement uses follows within a minute%n",
        arguments.get(2), arguments.get(1), arguments.get(0));
  }

  private static void up(Path root, Path folder) throws Exception {
    Tranche tranche = Tranche.start(Artifacts.of(root), plan(folder));

    printStep("submitting the pods of e2e/demo/pods.yaml");
    List<Pod> pods = submit(tranche, root.resolve("e2e/demo/pods.yaml"));
    printStep("making the pods use their GPUs");
    PodLoads.start(tranche, pods);

    System.out.println();
    System.out.print(Table.of(tranche, pods));
    System.out.print(nextSteps(root, tranche.kubeconfig(), tranche));
  }

  private static Tranche.Plan plan(Path folder) {
    var nodes = new LinkedHashMap<String, List<Model>>();
    nodes.put("node-t4", List.of(Model.T4, Model.T4));
    nodes.put("node-a10g", List.of(Model.A10G, Model.A10G));
    nodes.put("node-h100", List.of(Model.H100, Model.H100));
    // One replica of each Deployment, to be gentle with a small machine.
    Map<String, Object> values =
        Map.of(
            "webhook.replicas",
            1,
            "extender.replicas",
            1,
            // Tenants see their own.
            "extender.api.aggregated.enabled",
            true);
    return new Tranche.Plan(folder, nodes, Demo::makeBusy, values, true, Demo::printStep);
  }

  private static void makeBusy(Map<String, NodeGpus> nodes) {
    printStep("making some GPUs busy");
    nodes.forEach(
        (node, gpus) -> {
          switch (node) {
            // Leaves too little memory for half a GPU, so that the order of the others is always
            // the same.
            case "node-t4" -> gpus.load(0, 10, 8_000);
            case "node-a10g" -> {
              gpus.load(0, 80, 4_000);
              gpus.load(1, 10, 9_000);
            }
            default -> gpus.load(1, 95, 30_000);
          }
        });
  }

  private static List<Pod> submit(Tranche tranche, Path examples) throws IOException {
    var client = tranche.client();
    Namespaces.create(client, NAMESPACE);
    try (InputStream in = Files.newInputStream(examples)) {
      for (HasMetadata pod : client.load(in).items()) {
        client.resource(pod).inNamespace(NAMESPACE).create();
      }
    }
    var pods = client.pods().inNamespace(NAMESPACE);
    Await.until(
        "the pods to run",
        60,
        () ->
            pods.list().getItems().stream()
                .allMatch(pod -> Objects.equals(pod.getStatus().getPhase(), "Running")),
        () -> tranche.cluster().kubectl("-n", NAMESPACE, "describe", "pods").out());
    return pods.list().getItems();
  }

  private static String nextSteps(Path root, Path kubeconfig, Tranche tranche) {
    return """

    kubeconfig  %1$s
    metrics     %2$s/metrics

    See it, at http://localhost:9445:
      kubectl --kubeconfig %1$s -n tranche port-forward deploy/tranche-extender 9445

    Try next, in this folder:
      export KUBECONFIG=%1$s PATH=%3$s:$PATH
      kubectl get nodes -o custom-columns='NODE:.metadata.name,GPU:.status.allocatable.nvidia\\.com/gpu'
      kubectl -n demo describe pod rerank
      kubectl tranche top gpus
      kubectl tranche explain demo/chat
      kubectl -n demo run one-more --image=tranche-e2e/busybox:1 --annotations=tranche.dev/gpu-fraction=0.25 -- sleep infinity
      ./demo load node-a10g 1 95  # makes a GPU busy
      ./demo watch  # every GPU, live, until Ctrl-C
      ./demo down  # removes the cluster
    """
        .formatted(kubeconfig, tranche.extenderUrl(), root.resolve("deploy/kubectl"));
  }

  /** Goes on with the steps of the script that started this program. */
  private static void printStep(String step) {
    long nowMs = System.currentTimeMillis();
    String line = "[%3d s] %s%n".formatted((nowMs - startedMs()) / 1000, step);
    String steps = System.getenv("TRANCHE_STEPS");
    if (steps == null) {
      System.err.print(line);
      return;
    }
    try {
      Files.writeString(Path.of(steps), line, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long startedMs() {
    String seconds = System.getenv("TRANCHE_STARTED_S");
    return seconds == null ? STARTED_MS : Long.parseLong(seconds) * 1000;
  }
}
