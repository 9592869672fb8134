package dev.tranche.e2e.bench.record;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import dev.tranche.simulate.script.SchedulingScript;
import dev.tranche.simulate.script.SchedulingStage;
import dev.tranche.simulate.script.ScriptedExtender;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Records what a stock kube-scheduler does in each {@link SchedulingScript}. */
public final class RecordScheduling implements SchedulingStage {
  private static final String NAMESPACE = "default";
  private static final int SECONDS_MAX = 60;

  /** A script goes on at this part of a second: kube-scheduler ends backoffs at whole seconds. */
  private static final long PHASE_MS = 200;

  /** A kube-scheduler has begun to schedule by then. */
  private static final long START_MS = 5_000;

  private final ControlPlane plane;
  private final Path scheduler;
  private final Map<String, String> nameOfUid = new ConcurrentHashMap<>();
  private final ScriptServer server;
  private final ScriptedExtender extender;
  private int annotated;
  private long atMs;

  private RecordScheduling(ControlPlane plane, Path scheduler) throws IOException {
    this.plane = plane;
    this.scheduler = scheduler;
    this.extender = new ScriptedExtender(() -> System.nanoTime() / 1_000_000);
    this.server =
        new ScriptServer(
            (pod, uid, node) -> plane.bind(NAMESPACE, pod, uid, node),
            uid -> nameOfUid.getOrDefault(uid, uid));
  }

  /**
   * Arguments: a folder with {@code etcd} and {@code kube}, a kube-scheduler, the file to write,
   * and titles of scripts, if not all.
   */
  public static void main(String[] args) throws IOException {
    Path logs = Files.createTempDirectory("tranche-record");
    try (var plane = new ControlPlane(Path.of(args[0]), logs)) {
      for (int priority : new int[] {0, 10, 20, 30, 50, 100}) {
        plane
            .client()
            .raw("/apis/scheduling.k8s.io/v1/priorityclasses", "POST", priorityClass(priority));
      }
      Recorder.write(
          Path.of(args[2]),
          SchedulingScript.values(),
          List.of(args).subList(3, args.length),
          script -> record(plane, Path.of(args[1]), script));
    }
  }

  private static String priorityClass(int priority) {
    return """
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
         "metadata": {"name": "p%d"}, "value": %d}"""
        .formatted(priority, priority);
  }

  private static List<String> record(ControlPlane plane, Path scheduler, SchedulingScript script)
      throws IOException {
    var stage = new RecordScheduling(plane, scheduler);
    try (var _ = stage.server) {
      stage.startScheduler();
      stage.awaitScheduler();
      script.play(stage);
      return stage.recording();
    } finally {
      plane.stopScheduler();
      stage.clear();
    }
  }

  private void startScheduler() throws IOException {
    plane.startScheduler(scheduler, configuration());
  }

  /** Has a pod of its own placed, which is not recorded. */
  private void awaitScheduler() {
    node("first", 1);
    pod("first", 1);
    Await.until(
        "kube-scheduler to place a pod",
        SECONDS_MAX,
        () -> podNamed("first").get().getSpec().getNodeName() != null,
        () -> "its log is " + plane.schedulerLog());
    clear();
    atMs = System.currentTimeMillis() / 1_000 * 1_000 + 2_000 + PHASE_MS;
    Recorder.sleepUntil(atMs);
    server.serve(extender);
  }

  /** As the chart configures it. */
  private String configuration() {
    return """
        percentageOfNodesToScore: 100
        extenders:
          - urlPrefix: http://127.0.0.1:%d
            filterVerb: filter
            prioritizeVerb: prioritize
            bindVerb: bind
            preemptVerb: preempt
            weight: 1
            nodeCacheCapable: true
            ignorable: false
            httpTimeout: 10s
            managedResources: [{name: %s, ignoredByScheduler: false}]
        """
        .formatted(server.port(), Names.RESOURCE);
  }

  private void clear() {
    pods().forEach(pod -> gone(pod.getMetadata().getName()));
    client().nodes().delete();
    Await.until("no node", SECONDS_MAX, () -> client().nodes().list().getItems().isEmpty());
  }

  private KubernetesClient client() {
    return plane.client();
  }

  private List<Pod> pods() {
    return client().pods().inNamespace(NAMESPACE).list().getItems();
  }

  private Resource<Pod> podNamed(String name) {
    return client().pods().inNamespace(NAMESPACE).withName(name);
  }

  @Override
  public ScriptedExtender extender() {
    return extender;
  }

  @Override
  public void node(String name, int replicas) {
    var node =
        new NodeBuilder()
            .withNewMetadata()
            .withName(name)
            .endMetadata()
            .withNewStatus()
            .withCapacity(capacity(replicas))
            .withAllocatable(capacity(replicas))
            .endStatus()
            .build();
    client().resource(node).create();
  }

  private static Map<String, Quantity> capacity(int replicas) {
    return Map.of(
        Names.RESOURCE,
        new Quantity(Integer.toString(replicas)),
        "cpu",
        new Quantity("64"),
        "memory",
        new Quantity("64Gi"),
        "pods",
        new Quantity("110"));
  }

  @Override
  public void replicas(String node, int replicas) {
    client()
        .nodes()
        .withName(node)
        .editStatus(
            now ->
                new NodeBuilder(now)
                    .editStatus()
                    .withCapacity(capacity(replicas))
                    .withAllocatable(capacity(replicas))
                    .endStatus()
                    .build());
  }

  @Override
  public void annotate(String node) {
    annotated++;
    client()
        .nodes()
        .withName(node)
        .edit(
            now ->
                new NodeBuilder(now)
                    .editMetadata()
                    .addToAnnotations(Names.RETRY_TIME, Integer.toString(annotated))
                    .endMetadata()
                    .build());
  }

  @Override
  public void remove(String node) {
    client().nodes().withName(node).delete();
  }

  @Override
  public void pod(String name, int replicas, int priority) {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName(name)
            .endMetadata()
            .withNewSpec()
            .withPriorityClassName("p" + priority)
            .withTerminationGracePeriodSeconds(30L)
            .addNewContainer()
            .withName("main")
            .withImage("none")
            .withNewResources()
            .addToLimits(Names.RESOURCE, new Quantity(Integer.toString(replicas)))
            .endResources()
            .endContainer()
            .endSpec()
            .build();
    Pod created = client().pods().inNamespace(NAMESPACE).resource(pod).create();
    nameOfUid.put(created.getMetadata().getUid(), name);
  }

  @Override
  public void delete(String pod) {
    podNamed(pod).delete();
  }

  @Override
  public void gone(String pod) {
    podNamed(pod).withGracePeriod(0).delete();
  }

  @Override
  public void succeed(String pod) {
    podNamed(pod)
        .editStatus(
            now -> new PodBuilder(now).editStatus().withPhase("Succeeded").endStatus().build());
  }

  @Override
  public void restartScheduler() {
    plane.stopScheduler();
    extender.forgetTimes();
    try {
      startScheduler();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    atMs += START_MS;
    Recorder.sleepUntil(atMs);
  }

  @Override
  public void pass(int seconds) {
    atMs += 1_000L * seconds;
    Recorder.sleepUntil(atMs);
    var states = new TreeMap<String, String>();
    pods().forEach(pod -> states.put(pod.getMetadata().getName(), state(pod)));
    states.forEach((name, state) -> extender.note("= %s %s".formatted(name, state)));
  }

  private static String state(Pod pod) {
    String node = pod.getSpec().getNodeName();
    if ("Succeeded".equals(pod.getStatus().getPhase())) {
      return "has ended";
    }
    if (node != null) {
      return (pod.getMetadata().getDeletionTimestamp() == null ? "is on " : "ends on ") + node;
    }
    String nominated = pod.getStatus().getNominatedNodeName();
    return nominated == null || nominated.isEmpty() ? "waits" : "waits for " + nominated;
  }

  @Override
  public List<String> recording() {
    return extender.recording();
  }
}
