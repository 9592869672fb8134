package dev.tranche.nodeplugin;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldFile;
import dev.tranche.nodeplugin.gpu.HeldReplica;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.Allocation;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.kubelet.PluginCalls;
import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node whose config changes while pods come and go, in an order that a seed decides. The plugin
 * is ours: configs, replicas, read-back, the answers to the kubelet and the reports. A model of the
 * kubelet gets the device lists late. A model of the extender knows the reports, up to ten seconds
 * late, and frees what a pod had as soon as it has ended. Other schedulers place pods as they like.
 */
final class RecutWorld {
  private static final int GPUS = 3;
  private static final int LIST_EVERY_MS = 2_000;
  private static final int REPORT_LATE_MS = 10_000;
  private static final int[] REPLICAS = {1, 2, 3, 4, 5, 7, 10, 12, 16};

  /** A pod with one container. */
  private static final class Pod {
    final String uid;
    final String name;
    final String resource;
    final int size;

    /** R that it was sized for; 0: a plain request. */
    final int sizedFor;

    List<String> ids = List.of();
    Map<String, GpuPart> parts = Map.of();

    Pod(String uid, String name, String resource, int size, int sizedFor) {
      this.uid = uid;
      this.name = name;
      this.resource = resource;
      this.size = size;
      this.sizedFor = sizedFor;
    }
  }

  private record Timed<T>(long atMs, T what) {}

  private final Random random;
  private final List<String> order = new ArrayList<>(List.of("GPU-a", "GPU-b", "GPU-c"));
  private final List<String> history = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();

  // The plugin.
  private PluginState state = new PluginState(() -> Hardware.NONE);
  private PluginCalls calls = new PluginCalls(state.held());
  private final ReportBuilder reports =
      new ReportBuilder("node", "run", "1", new Overuse(new OveruseOptions(0.05, 3, false)));
  private byte[] heldFile = new byte[0];
  private Outcome.Usable config = config("{name: gpu, replicas: 10}");

  // The kubelet.
  private final Map<String, Map<String, Boolean>> devices = new HashMap<>();
  private final Deque<Timed<Map<String, Map<String, Boolean>>>> lists = new ArrayDeque<>();
  private final Map<String, Pod> running = new LinkedHashMap<>();
  private final Deque<Timed<Pod>> bound = new ArrayDeque<>();
  private long restartedAtMs = -1_000_000;

  // The extender.
  private final Deque<Timed<NodeReport>> onTheWay = new ArrayDeque<>();
  private @Nullable NodeReport report;
  private final Map<String, Pod> inFlight = new LinkedHashMap<>();
  private final Map<String, String> assignedTo = new HashMap<>();
  private final Set<String> ended = new HashSet<>();

  private boolean faults = true;
  private long nowMs = 1_000_000;
  private long listedAtMs;
  private int created;
  private int placed;
  private int mixed;

  RecutWorld(long seed) {
    random = new Random(seed);
    startPlugin();
  }

  int placed() {
    return placed;
  }

  /** Placements on a GPU that also had replicas of another number. */
  int mixed() {
    return mixed;
  }

  List<String> failures() {
    return failures;
  }

  String history() {
    return String.join("\n", history.subList(Math.max(0, history.size() - 60), history.size()));
  }

  void run(int steps) {
    for (int i = 0; i < steps && failures.isEmpty(); i++) {
      advance(random.nextInt(400));
      switch (random.nextInt(40)) {
        case 0 -> recut();
        case 1 -> {
          if (random.nextInt(3) == 0) {
            restartPlugin();
          }
        }
        case 2 -> {
          if (random.nextInt(4) == 0) {
            restartKubelet();
          }
        }
        case 3 -> advance(random.nextInt(8_000));
        case 4 -> mps();
        case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 -> end();
        case 16, 17, 18, 19, 20, 21 -> bindByOthers();
        default -> bindByUs();
      }
    }
  }

  private void log(String what) {
    history.add(nowMs + " " + what);
  }

  private void advance(long ms) {
    long untilMs = nowMs + ms;
    while (nowMs < untilMs && failures.isEmpty()) {
      nowMs = Math.min(untilMs, nowMs + 100);
      if (nowMs - listedAtMs >= LIST_EVERY_MS) {
        readBack();
      }
      while (!lists.isEmpty() && lists.getFirst().atMs() <= nowMs) {
        devices.putAll(lists.removeFirst().what());
      }
      while (!onTheWay.isEmpty() && onTheWay.getFirst().atMs() <= nowMs) {
        report = onTheWay.removeFirst().what();
      }
      while (!bound.isEmpty() && bound.getFirst().atMs() <= nowMs) {
        admit(bound.removeFirst().what());
      }
    }
  }

  // --- the plugin ---

  private List<GpuStatus> gpus() {
    List<GpuStatus> gpus = new ArrayList<>();
    for (int i = 0; i < GPUS; i++) {
      GpuInfo info = new GpuInfo(i, order.get(i), "Tesla T4", i, 16L << 30, 0, -1, 7, Mig.OFF);
      gpus.add(new GpuStatus(info, new Health.Healthy(), null));
    }
    return gpus;
  }

  private void startPlugin() {
    state = new PluginState(() -> Hardware.NONE);
    calls = new PluginCalls(state.held());
    state.held().restore(HeldFile.parse(heldFile));
    state.config(config);
    state.gpus(gpus());
    publish();
    readBack();
  }

  /** Indexes are another order after a reboot of the driver, and the config may be another one. */
  private void restartPlugin() {
    if (random.nextBoolean()) {
      Collections.shuffle(order, random);
    }
    if (random.nextBoolean()) {
      config = randomConfig();
    }
    log("plugin restarts with " + config.name() + " on " + order);
    List<Assignment> kept = calls.remaining(nowMs);
    startPlugin();
    kept.forEach(assignment -> calls.receive(assignment, nowMs));
  }

  private void recut() {
    config = randomConfig();
    state.config(config);
    log("config " + config.name());
    publish();
    sendReport();
  }

  private void mps() {
    state.mps(
        random.nextBoolean()
            ? new MpsAvailability.Missing("no daemon")
            : new MpsAvailability.Serving());
    publish();
    sendReport();
  }

  private Outcome.Usable randomConfig() {
    String one = "{name: gpu, replicas: %d}".formatted(replicas());
    return switch (random.nextInt(5)) {
      case 0 ->
          config(
              "{name: gpu, devices: [0], replicas: %d}".formatted(replicas()),
              "{name: gpu, devices: [1, 2], replicas: %d}".formatted(replicas()));
      case 1 ->
          config(
              "{name: gpu, rename: gpu.shared, devices: [%s], replicas: %d}"
                  .formatted(order.get(random.nextInt(GPUS)), replicas()));
      case 2 -> usable("mps", "{name: gpu, replicas: %d}".formatted(Math.max(2, replicas())));
      default -> config(one);
    };
  }

  private int replicas() {
    return REPLICAS[random.nextInt(REPLICAS.length)];
  }

  private static Outcome.Usable config(String... resources) {
    return usable("timeSlicing", resources);
  }

  private static Outcome.Usable usable(String strategy, String... resources) {
    String yaml =
        "sharing: {%s: {resources: [%s]}}".formatted(strategy, String.join(", ", resources));
    return Configs.usable(yaml, yaml, "--mps-root=/mps", "--nvidia-compatible=extended");
  }

  private void publish() {
    state
        .replicas()
        .ifPresent(
            replicas -> {
              var next = calls.publish(replicas, nowMs);
              Map<String, Map<String, Boolean>> all = new HashMap<>();
              // A resource without replicas has no plugin any more.
              Stream.concat(devices.keySet().stream(), next.keySet().stream())
                  .forEach(resource -> all.put(resource, next.getOrDefault(resource, Map.of())));
              long last = lists.isEmpty() ? 0 : lists.getLast().atMs();
              lists.add(new Timed<>(Math.max(last, nowMs + random.nextInt(300)), all));
            });
  }

  private void readBack() {
    listedAtMs = nowMs;
    List<Holding> holdings = calls.listed(list(true), nowMs);
    boolean changed = state.holdings(holdings);
    boolean held = state.held(holdings, true, nowMs);
    if (held) {
      heldFile = HeldFile.content(state.held().all());
      publish();
    }
    if (changed || held) {
      sendReport();
    }
  }

  private void sendReport() {
    NodeReport next = reports.report(state, true, nowMs, nowMs).build();
    long last = onTheWay.isEmpty() ? 0 : onTheWay.getLast().atMs();
    int lateMs = random.nextInt(5) == 0 ? REPORT_LATE_MS : 300;
    onTheWay.add(new Timed<>(Math.max(last, nowMs + random.nextInt(lateMs)), next));
  }

  // --- the kubelet ---

  /** A kubelet that has just started lists its pods only bit by bit. */
  private void restartKubelet() {
    log("kubelet restarts");
    restartedAtMs = nowMs;
  }

  private ListPodResourcesResponse list(boolean bitByBit) {
    var list = ListPodResourcesResponse.newBuilder();
    boolean partial = bitByBit && nowMs - restartedAtMs < 2_500;
    for (Pod pod : running.values()) {
      var container = ContainerResources.newBuilder().setName("main");
      if (!pod.ids.isEmpty()) {
        container.addDevices(
            ContainerDevices.newBuilder().setResourceName(pod.resource).addAllDeviceIds(pod.ids));
      }
      if (!partial || random.nextBoolean()) {
        list.addPodResources(
            PodResources.newBuilder()
                .setNamespace("ns")
                .setName(pod.name)
                .addContainers(container));
      }
    }
    return list.build();
  }

  private List<String> available(String resource) {
    Set<String> inUse =
        running.values().stream()
            .filter(pod -> pod.resource.equals(resource))
            .flatMap(pod -> pod.ids.stream())
            .collect(Collectors.toSet());
    return devices.getOrDefault(resource, Map.of()).entrySet().stream()
        .filter(device -> device.getValue() && !inUse.contains(device.getKey()))
        .map(Map.Entry::getKey)
        .toList();
  }

  private void admit(Pod pod) {
    List<String> available = new ArrayList<>(available(pod.resource));
    running.put(pod.name, pod);
    if (available.size() < pod.size) {
      fails(pod, "insufficient");
      return;
    }
    List<String> preferred = calls.prefer(pod.resource, available, pod.size, list(false), nowMs);
    if (faults && random.nextInt(20) == 0) {
      recut();
    }
    Collections.shuffle(available, random);
    List<String> ids =
        Stream.concat(preferred.stream(), available.stream()).distinct().limit(pod.size).toList();
    switch (calls.allocate(pod.resource, ids, nowMs).orElse(null)) {
      case Allocation.Verdict.Granted granted -> granted(pod, ids);
      case Allocation.Verdict.Refused refused -> fails(pod, refused.message());
      case null -> fails(pod, "no such resource");
    }
  }

  private void granted(Pod pod, List<String> ids) {
    heldFile = HeldFile.content(state.held().all());
    pod.ids = ids;
    Map<String, GpuPart> parts = new HashMap<>();
    for (HeldReplica held : state.held().all()) {
      if (held.resource().equals(pod.resource) && ids.contains(held.id())) {
        int of = held.replicasPerGpu();
        parts.merge(held.uuid(), held.part(), GpuPart::plus);
        if (assignedTo.containsKey(pod.uid) && pod.sizedFor > 0 && pod.sizedFor != of) {
          failures.add(pod.name + " was sized for " + pod.sizedFor + " and got replicas of " + of);
        }
      }
    }
    pod.parts = parts;
    placed++;
    log("granted " + ids + " to " + pod.name + " as " + parts);
    for (String uuid : parts.keySet()) {
      GpuPart sum = onGpu(uuid);
      mixed += sum.equals(parts.get(uuid)) ? 0 : isMixed(uuid);
      if (sum.exceedsOneGpu()) {
        failures.add(sum + " of " + uuid + " is granted, the last of it to " + pod.name);
      }
    }
    if (random.nextBoolean()) {
      readBack();
    }
  }

  private int isMixed(String uuid) {
    return running.values().stream()
                .filter(pod -> pod.parts.containsKey(uuid))
                .map(pod -> pod.parts.get(uuid).denominator())
                .distinct()
                .count()
            > 1
        ? 1
        : 0;
  }

  private GpuPart onGpu(String uuid) {
    return running.values().stream()
        .map(pod -> pod.parts.getOrDefault(uuid, GpuPart.NONE))
        .reduce(GpuPart.NONE, GpuPart::plus);
  }

  private void fails(Pod pod, String why) {
    log(pod.name + " fails: " + why);
    running.remove(pod.name);
    gone(pod);
  }

  private void end() {
    List<Pod> all = running.values().stream().filter(pod -> !pod.ids.isEmpty()).toList();
    if (!all.isEmpty()) {
      Pod pod = all.get(random.nextInt(all.size()));
      log(pod.name + " ends");
      running.remove(pod.name);
      gone(pod);
    }
  }

  /** The extender frees at once. */
  private void gone(Pod pod) {
    ended.add(pod.name);
    inFlight.remove(pod.uid);
    calls.retract(pod.uid, nowMs);
  }

  // --- who places pods ---

  private String name() {
    return "p" + created;
  }

  private void bind(Pod pod) {
    bound.add(new Timed<>(nowMs + random.nextInt(1_500), pod));
  }

  private void bindByOthers() {
    String resource = random.nextInt(4) == 0 ? "nvidia.com/gpu.shared" : "nvidia.com/gpu";
    int free = available(resource).size();
    if (free > 0) {
      int size = 1 + random.nextInt(Math.min(free, 8));
      created++;
      bind(new Pod("u" + created, name(), resource, size, 0));
    }
  }

  private void bindByUs() {
    NodeReport known = report;
    if (known == null || known.getGpusCount() == 0) {
      return;
    }
    Gpu gpu = known.getGpus(random.nextInt(known.getGpusCount()));
    int free = free(known, gpu);
    if (free > 0) {
      bindTo(gpu, 1 + random.nextInt(free));
    }
  }

  private void bindTo(Gpu gpu, int size) {
    created++;
    int of = gpu.getReplicas();
    Pod pod = new Pod("u" + created, name(), gpu.getResource(), size, of);
    inFlight.put(pod.uid, pod);
    assignedTo.put(pod.uid, gpu.getUuid());
    var share = GpuShare.newBuilder().setUuid(gpu.getUuid()).setReplicas(size);
    calls.receive(
        Assignment.newBuilder()
            .setPodUid(pod.uid)
            .setNamespace("ns")
            .setPod(pod.name)
            .setResource(pod.resource)
            .setExpiresInMs(60_000)
            .setReplicasPerGpu(of)
            .addContainers(ContainerAssignment.newBuilder().setContainer("main").addShares(share))
            .addHeld(share)
            .build(),
        nowMs);
    bind(pod);
  }

  /** As the extender counts: the report, without pods that ended, with pods on their way. */
  private int free(NodeReport known, Gpu gpu) {
    int current = 0;
    GpuPart earlier = GpuPart.NONE;
    Set<String> listed = new HashSet<>();
    for (Holding holding : known.getHoldingsList()) {
      listed.add(holding.getPod());
      for (String id : holding.getDeviceIdsList()) {
        if (ReplicaId.uuidOf(id).equals(gpu.getUuid()) && !ended.contains(holding.getPod())) {
          boolean same =
              holding.getReplicasPerGpu() == gpu.getReplicas()
                  && holding.getResource().equals(gpu.getResource());
          current += same ? 1 : 0;
          earlier = same ? earlier : earlier.plus(GpuPart.of(1, holding.getReplicasPerGpu()));
        }
      }
    }
    for (Pod pod : inFlight.values()) {
      if (!listed.contains(pod.name) && gpu.getUuid().equals(assignedTo.get(pod.uid))) {
        current += pod.size;
      }
    }
    int withheld = Math.max(gpu.getWithheldReplicas(), earlier.replicas(gpu.getReplicas()));
    return gpu.getReplicas() - withheld - current;
  }

  // --- the end ---

  /** All is heard. Then whatever is free can be had at once, and by the whole of it. */
  void settle() {
    faults = false;
    for (int i = 0; i < 5; i++) {
      advance(4_000);
      sendReport();
    }
    advance(REPORT_LATE_MS);
    inFlight.clear();
    for (Gpu gpu : Optional.ofNullable(report).map(NodeReport::getGpusList).orElse(List.of())) {
      checkFree(gpu);
    }
  }

  private void checkFree(Gpu gpu) {
    int of = gpu.getReplicas();
    GpuPart used = onGpu(gpu.getUuid());
    int free = of - used.replicas(of);
    int told = free(Optional.ofNullable(report).orElseThrow(), gpu);
    long ids =
        available(gpu.getResource()).stream()
            .filter(id -> ReplicaId.uuidOf(id).equals(gpu.getUuid()))
            .count();
    if (told != free || ids != free) {
      failures.add(
          "of %d replicas of %s, %s are held; %d are free, told are %d, offered %d of %s"
              .formatted(of, gpu.getUuid(), used, free, told, ids, devices));
    } else if (free > 0) {
      bindTo(gpu, free);
      String name = name();
      advance(1_600);
      Pod pod = running.get(name);
      if (pod == null || !pod.parts.containsKey(gpu.getUuid())) {
        failures.add(free + " of " + gpu.getUuid() + " were refused, or given elsewhere");
      }
    }
  }
}
