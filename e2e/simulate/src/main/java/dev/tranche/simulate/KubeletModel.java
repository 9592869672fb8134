package dev.tranche.simulate;

import dev.tranche.api.Demand;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.nodeplugin.SimulatedPlugin;
import dev.tranche.nodeplugin.usage.ContainerName;
import dev.tranche.nodeplugin.usage.ContainerUse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A kubelet: it takes up one change after the other, admits one pod at a time, and remembers which
 * devices it gave. Its calls do not name pods, and its lists name them without uids.
 */
final class KubeletModel extends SimulatedProcess {
  private static final int START_MS_MAX = 4_000;
  private static final int STATUS_MS_MAX = 1_500;
  private static final long WRITE_MS = 3_000;

  /** After this time the kubelet and the plugin know that a GPU is unhealthy. */
  private static final long KNOWN_AFTER_MS = 3_000;

  private static final String STATIC_POD = "proxy";

  /** A pod that this kubelet runs, or is about to. */
  private static final class LocalPod {
    PodObject pod;

    /** The devices of each container, in the order of their admission. */
    final Map<String, List<String>> ids = new LinkedHashMap<>();

    /** What init containers pass on. */
    final Set<String> reusable = new TreeSet<>();

    /** Parts by device, as granted. */
    final Map<String, GpuPart> partById = new HashMap<>();

    boolean admitted;
    boolean listed = true;
    boolean ends;
    boolean onUnhealthyGpu;

    /** Whether the plugin could not give it the promised GPU, or had to guess which pod it is. */
    boolean mayHaveAnotherGpu;

    LocalPod(PodObject pod) {
      this.pod = pod;
    }

    /** Returns the parts by uuid. */
    Map<String, GpuPart> parts() {
      Map<String, GpuPart> parts = new HashMap<>();
      partById.forEach((id, part) -> parts.merge(ReplicaId.uuidOf(id), part, GpuPart::plus));
      return parts;
    }

    /** Returns the container that is admitted next. */
    Demand.Request next() {
      return pod.plan().requests().get(ids.size());
    }
  }

  private final World world;
  private final String node;
  private final List<GpuModel> gpus;
  private final SplittableRandom random;
  final Watch<PodObject> watch;
  private final Map<String, LocalPod> pods = new LinkedHashMap<>();

  /** Changes that the API server has shown, and that wait until the pod before is admitted. */
  private final Deque<Runnable> changes = new ArrayDeque<>();

  private Map<String, Boolean> devices = new LinkedHashMap<>();
  private @Nullable PluginProcess plugin;
  private boolean endpoint;
  private boolean admitting;
  private long listHangsUntilMs;
  private int allocatable = -1;

  KubeletModel(World world, String node, List<GpuModel> gpus) {
    super("kubelet-" + node, world.queue, world.randoms.of("kubelet-" + node));
    this.world = world;
    this.node = node;
    this.gpus = gpus;
    this.random = world.randoms.of("kubelet delays " + node);
    this.watch =
        new Watch<>(world, this, world.api.pods, pod -> node.equals(pod.node()), new PodSink());
  }

  void serve(PluginProcess by) {
    plugin = by;
  }

  private PluginProcess plugin() {
    return Objects.requireNonNull(plugin);
  }

  @Override
  void start() {
    super.start();
    endpoint = false;
    admitting = false;
    changes.clear();
    devices = new LinkedHashMap<>();
    allocatable = -1;
    // Until the API server shows a pod again, it is not listed, though its containers run.
    pods.values().forEach(local -> local.listed = false);
    pods.values().removeIf(local -> !local.admitted);
    world.history.add(name, "starts");
    watch.start();
    every(2_000, this::statusChanged);
    for (LocalPod local : List.copyOf(pods.values())) {
      resume(local);
    }
    plugin().dropped();
  }

  private void resume(LocalPod local) {
    if (local.ends) {
      run(500, () -> contentEnded(local));
    } else {
      run(random.nextInt(START_MS_MAX), () -> started(local));
    }
  }

  @Override
  void kill() {
    super.kill();
    world.history.add(name, "is killed");
  }

  /** Its containers are gone, too. */
  void remove() {
    kill();
    removed = true;
    pods.clear();
  }

  void hangList(long forMs) {
    listHangsUntilMs = Math.max(listHangsUntilMs, queue.nowMs() + forMs);
  }

  boolean listHangs() {
    return !running() || queue.nowMs() < listHangsUntilMs;
  }

  // --- what others see ---

  ListPodResourcesResponse list() {
    var list = ListPodResourcesResponse.newBuilder();
    list.addPodResources(PodResources.newBuilder().setNamespace("kube-system").setName(STATIC_POD));
    for (LocalPod local : pods.values()) {
      if (local.listed) {
        var pod =
            PodResources.newBuilder()
                .setNamespace(PodObject.NAMESPACE)
                .setName(local.pod.plan().name());
        for (Demand.Request request : local.pod.plan().requests()) {
          if (request.kind() != Demand.Kind.INIT) {
            pod.addContainers(container(request.container(), local));
          }
        }
        list.addPodResources(pod);
      }
    }
    return list.build();
  }

  private static ContainerResources container(String name, LocalPod local) {
    var container = ContainerResources.newBuilder().setName(name);
    List<String> ids = local.ids.getOrDefault(name, List.of());
    if (!ids.isEmpty()) {
      container.addDevices(
          ContainerDevices.newBuilder().setResourceName(Names.RESOURCE).addAllDeviceIds(ids));
    }
    return container.build();
  }

  List<ContainerUse> uses(String uuid) {
    var uses = new ArrayList<ContainerUse>();
    for (LocalPod local : pods.values()) {
      GpuPart part = local.parts().get(uuid);
      if (part != null && local.pod.phase() == PodObject.Phase.RUNNING) {
        long bytes = part.of(GpuModel.bytes(1, 1)) / 100 * world.usedPercent(local.pod.plan());
        var main = new ContainerName(PodObject.NAMESPACE, local.pod.plan().name(), "main");
        uses.add(new ContainerUse(main, bytes, 10));
      }
    }
    return uses;
  }

  boolean startedOnUnhealthyGpu(String uid) {
    LocalPod local = pods.get(uid);
    return local != null && local.onUnhealthyGpu;
  }

  boolean mayHaveAnotherGpu(String uid) {
    LocalPod local = pods.get(uid);
    return local != null && local.mayHaveAnotherGpu;
  }

  /** Whether an init container has left the pod a device that may be of another GPU. */
  boolean mayHaveUnlistedGpu(String uid) {
    LocalPod local = pods.get(uid);
    return local != null && local.mayHaveAnotherGpu && !local.reusable.isEmpty();
  }

  /** Returns the parts of all pods that have devices, whether the API server knows them or not. */
  Map<String, Map<String, GpuPart>> allParts() {
    Map<String, Map<String, GpuPart>> parts = new TreeMap<>();
    pods.forEach((uid, local) -> parts.put(uid, local.parts()));
    return parts;
  }

  boolean holdsAny() {
    return pods.values().stream().anyMatch(local -> !local.ids.isEmpty());
  }

  // --- the plugin ---

  /** The plugin has sent its device lists. */
  void devices(PluginProcess by, int of, Map<String, Map<String, Boolean>> lists) {
    if (by.running() && by.incarnation() == of) {
      endpoint = true;
      devices = new LinkedHashMap<>(lists.getOrDefault(Names.RESOURCE, Map.of()));
      statusChanged();
    }
  }

  /** The plugin is gone: its devices count as unhealthy. */
  void endpointLost() {
    if (running()) {
      endpoint = false;
      devices.replaceAll((id, healthy) -> false);
      statusChanged();
    }
  }

  private void statusChanged() {
    int now = (int) devices.values().stream().filter(healthy -> healthy).count();
    if (now == allocatable) {
      return;
    }
    allocatable = now;
    world.write(
        this,
        WRITE_MS,
        () -> world.api.updateNode(node, (before, at) -> before.allocatable(at, now)),
        answered -> allocatable = answered ? allocatable : -1);
  }

  // --- pods ---

  private final class PodSink implements Watch.Sink<PodObject> {
    @Override
    public void seen(PodObject pod) {
      changes.add(() -> takeUp(pod));
      takeUpNext();
    }

    @Override
    public void gone(PodObject pod) {
      changes.add(() -> forget(pod));
      takeUpNext();
    }

    /** After a start, pods that the API server no longer has are orphans, which a kubelet ends. */
    @Override
    public void listed() {
      changes.add(
          () ->
              List.copyOf(pods.values()).stream()
                  .filter(local -> !local.listed)
                  .forEach(local -> forget(local.pod)));
      takeUpNext();
    }
  }

  private void takeUpNext() {
    while (!admitting && !changes.isEmpty()) {
      changes.remove().run();
    }
  }

  private void takeUp(PodObject pod) {
    LocalPod local = pods.get(pod.uid());
    if (local == null) {
      if (!pod.ended() && !pod.terminating()) {
        var added = new LocalPod(pod);
        pods.put(pod.uid(), added);
        admitting = true;
        run(1 + random.nextInt(20), () -> prefer(added));
      } else if (pod.terminating() && !pod.ended()) {
        finish(pod.uid());
      }
      return;
    }
    local.listed = true;
    local.pod = pod;
    if (pod.terminating() && !local.ends) {
      local.ends = true;
      run(pod.plan().graceMs(), () -> contentEnded(local));
    }
  }

  private void forget(PodObject pod) {
    LocalPod local = pods.remove(pod.uid());
    if (local != null && !local.ids.isEmpty()) {
      world.history.add(name, "forgets pod %s (%s)".formatted(pod.key(), pod.uid()));
    }
  }

  /** The containers of a deleted pod have ended. */
  private void contentEnded(LocalPod local) {
    free(local);
    pods.remove(local.pod.uid());
    finish(local.pod.uid());
  }

  private static void free(LocalPod local) {
    local.ids.clear();
    local.partById.clear();
  }

  private void finish(String uid) {
    write(() -> world.api.finish(uid));
  }

  private void phase(LocalPod local, PodObject.Phase phase, String why) {
    String uid = local.pod.uid();
    write(() -> world.api.phase(uid, phase, why));
  }

  /** Writes until it has an answer. */
  private void write(Runnable change) {
    world.write(
        this,
        WRITE_MS,
        change,
        answered -> {
          if (!answered) {
            run(500, () -> write(change));
          }
        });
  }

  private List<String> free() {
    Set<String> taken = new HashSet<>();
    pods.values().forEach(local -> local.ids.values().forEach(taken::addAll));
    var free = new ArrayList<String>();
    devices.forEach(
        (id, healthy) -> {
          if (healthy && !taken.contains(id)) {
            free.add(id);
          }
        });
    return free;
  }

  /** Admits the next container: what init containers pass on comes first, then what is free. */
  private void prefer(LocalPod local) {
    if (pods.get(local.pod.uid()) != local) {
      return;
    }
    int size = local.next().replicas();
    List<String> reused = new ArrayList<>(local.reusable);
    shuffle(reused);
    if (!endpoint || !plugin().running()) {
      fail(local, "the plugin does not serve");
      return;
    }
    int of = plugin().incarnation();
    int done = local.ids.size();
    run(
        6_000,
        () -> {
          if (admitting && pods.get(local.pod.uid()) == local && local.ids.size() == done) {
            fail(local, "the plugin does not answer");
          }
        });
    if (reused.size() >= size) {
      run(random.nextInt(10), () -> allocate(local, List.copyOf(reused.subList(0, size)), of));
      return;
    }
    List<String> free = free();
    if (reused.size() + free.size() < size) {
      fail(
          local, "too few healthy replicas: %d of %d".formatted(reused.size() + free.size(), size));
      return;
    }
    // Available devices are a set in Go: in any order.
    var available = new ArrayList<>(free);
    available.addAll(reused);
    shuffle(available);
    plugin()
        .run(
            random.nextInt(3),
            () -> {
              boolean first = local.ids.isEmpty();
              local.mayHaveAnotherGpu |= listHangs() || (first && !offersPromised(free, local.pod));
              List<String> preferred = plugin().prefer(Names.RESOURCE, available, reused, size);
              List<String> picked = picked(reused, preferred, available, size);
              run(random.nextInt(10), () -> allocate(local, picked, of));
            });
  }

  private void shuffle(List<String> ids) {
    for (int i = ids.size() - 1; i > 0; i--) {
      Collections.swap(ids, i, random.nextInt(i + 1));
    }
  }

  /** Whether each promised GPU has enough healthy free replicas. */
  private boolean offersPromised(List<String> free, PodObject pod) {
    return pod.promised().entrySet().stream()
        .allMatch(
            part ->
                free.stream().filter(id -> ReplicaId.uuidOf(id).equals(part.getKey())).count()
                    >= part.getValue().replicas(world.replicas(node)));
  }

  /** The kubelet fills up what is missing as it likes. */
  private static List<String> picked(
      List<String> reused, List<String> preferred, List<String> available, int size) {
    var picked = new LinkedHashSet<>(reused);
    for (List<String> from : List.of(preferred, available)) {
      for (String id : from) {
        if (picked.size() < size) {
          picked.add(id);
        }
      }
    }
    return List.copyOf(picked);
  }

  private void allocate(LocalPod local, List<String> ids, int of) {
    if (pods.get(local.pod.uid()) != local) {
      return;
    }
    if (plugin().incarnation() != of || !admitting) {
      fail(local, "the plugin has ended");
      return;
    }
    plugin()
        .run(
            random.nextInt(3),
            () -> {
              var answer = plugin().allocate(Names.RESOURCE, ids);
              run(plugin().allocateMs() + random.nextInt(4), () -> allocated(local, ids, answer));
            });
  }

  private void allocated(LocalPod local, List<String> ids, SimulatedPlugin.Allocated answer) {
    if (!admitting || pods.get(local.pod.uid()) != local) {
      return;
    }
    String refusal = answer.refusal();
    if (!refusal.isEmpty()) {
      world.counts.count(Branch.REFUSED_BY_NODE);
      fail(local, refusal);
      return;
    }
    for (String id : ids) {
      String uuid = ReplicaId.uuidOf(id);
      int of = id.equals(uuid) ? 1 : answer.replicasPerGpu().getOrDefault(uuid, 1);
      local.partById.put(id, GpuPart.of(1, of));
    }
    Demand.Request container = local.next();
    local.ids.put(container.container(), ids);
    if (container.kind() == Demand.Kind.INIT) {
      local.reusable.addAll(ids);
    } else {
      ids.forEach(local.reusable::remove);
    }
    if (local.ids.size() < local.pod.plan().requests().size()) {
      run(1 + random.nextInt(3), () -> prefer(local));
      return;
    }
    Map<String, GpuPart> parts = local.parts();
    local.admitted = true;
    local.onUnhealthyGpu =
        plugin().hasRunFor(KNOWN_AFTER_MS)
            && gpus.stream()
                .anyMatch(gpu -> parts.containsKey(gpu.uuid) && gpu.unhealthyFor(KNOWN_AFTER_MS));
    admitting = false;
    world.history.add(
        name,
        "gives %s to pod %s (%s)"
            .formatted(new TreeMap<>(parts), local.pod.key(), local.pod.uid()));
    world.allocated(local.pod, parts);
    run(100 + random.nextInt(START_MS_MAX), () -> started(local));
    takeUpNext();
  }

  private void fail(LocalPod local, String why) {
    admitting = false;
    world.history.add(
        name, "refuses pod %s (%s): %s".formatted(local.pod.key(), local.pod.uid(), why));
    free(local);
    local.ends = true;
    pods.remove(local.pod.uid());
    phase(local, PodObject.Phase.FAILED, ": " + why);
    world.checks.refused(local.pod, why);
    run(random.nextInt(STATUS_MS_MAX), this::takeUpNext);
  }

  private void started(LocalPod local) {
    if (local.ends || pods.get(local.pod.uid()) != local || !local.admitted) {
      return;
    }
    phase(local, PodObject.Phase.RUNNING, "");
    run(local.pod.plan().runMs(), () -> ended(local));
  }

  private void ended(LocalPod local) {
    if (local.ends || pods.get(local.pod.uid()) != local) {
      return;
    }
    if (world.calm()) {
      return;
    }
    local.ends = true;
    free(local);
    pods.remove(local.pod.uid());
    phase(local, PodObject.Phase.SUCCEEDED, "");
  }
}
