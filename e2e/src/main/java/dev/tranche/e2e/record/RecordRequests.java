package dev.tranche.e2e.record;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Records what a stock kube-scheduler sends to an extender for every verb, also to one that is not
 * {@code nodeCacheCapable}. The cluster is an API server with three nodes and a few pods that no
 * kubelet runs.
 */
public final class RecordRequests {
  private static final String NAMESPACE = "team-a";
  private static final int SECONDS_MAX = 60;

  private final ControlPlane plane;
  private final Path scheduler;
  private final Path out;
  private final RecordingExtender extender = new RecordingExtender();

  private RecordRequests(ControlPlane plane, Path scheduler, Path out) {
    this.plane = plane;
    this.scheduler = scheduler;
    this.out = out;
  }

  /**
   * Arguments: a folder with {@code etcd} and {@code kube}, a kube-scheduler, and the folder to
   * write to.
   */
  public static void main(String[] args) throws IOException {
    Path logs = Files.createTempDirectory("tranche-record");
    try (var plane = new ControlPlane(Path.of(args[0]), logs)) {
      new RecordRequests(plane, Path.of(args[1]), Files.createDirectories(Path.of(args[2]))).run();
    }
  }

  private void run() throws IOException {
    try (extender) {
      extender.binder(this::bind);
      apply("cluster.yaml");
      start(true);
      apply("pods.yaml");
      write("filter", "trainer", "filter");
      write("prioritize", "trainer", "prioritize");
      write("bind", "trainer", "bind");
      write("filter", "pipeline", "filter-init");
      apply("full.yaml");
      write("preempt", "urgent", "preempt");
      plane.stopScheduler();
      start(false);
      apply("late.yaml");
      write("filter", "late", "filter-node-list");
      write("preempt", "urgent-late", "preempt-node-list");
    }
  }

  private void start(boolean nodeCacheCapable) throws IOException {
    plane.startScheduler(
        scheduler,
        """
        extenders:
          - urlPrefix: http://127.0.0.1:%d
            filterVerb: filter
            prioritizeVerb: prioritize
            bindVerb: bind
            preemptVerb: preempt
            weight: 1
            nodeCacheCapable: %s
            ignorable: false
            httpTimeout: 10s
            managedResources: [{name: nvidia.com/gpu, ignoredByScheduler: false}]
        """
            .formatted(extender.port(), nodeCacheCapable));
  }

  private KubernetesClient client() {
    return plane.client();
  }

  private void apply(String name) throws IOException {
    try (InputStream in = RecordRequests.class.getResourceAsStream("/record/" + name)) {
      byte[] yaml = Objects.requireNonNull(in, name).readAllBytes();
      client()
          .load(new ByteArrayInputStream(yaml))
          .items()
          .forEach(i -> client().resource(i).create());
    }
  }

  private void bind(JsonNode args) {
    plane.bind(
        NAMESPACE,
        args.path("PodName").asText(),
        args.path("PodUID").asText(),
        args.path("Node").asText());
  }

  private void write(String verb, String pod, String name) throws IOException {
    Await.until(verb + " of pod " + pod, SECONDS_MAX, () -> extender.body(verb, pod).isPresent());
    String body = extender.body(verb, pod).orElseThrow();
    Files.writeString(out.resolve(name + ".json"), body.strip() + "\n");
  }
}
