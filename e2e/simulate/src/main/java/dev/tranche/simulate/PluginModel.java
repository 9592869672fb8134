package dev.tranche.simulate;

import dev.tranche.api.BriefReports;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.nodeplugin.SimulatedPlugin;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** A node's plugin: its own code, and what stands for its sockets, files and timers. */
final class PluginModel extends PluginProcess {
  private static final long SAMPLE_MS = 1_000;
  private static final long READ_BACK_MS = 2_000;
  private static final long AFTER_ALLOCATE_MS = 100;
  private static final long SETTLE_MS = 30;
  private static final long CALL_GAP_MS = 2_000;
  private static final long HEARTBEAT_MS = 5_000;
  private static final long PONG_MS = 10_000;
  private static final long REGISTER_MS_MAX = 1_500;
  private static final int RECONNECT_MS_MAX = 2_000;
  private static final int SAVE_MS_MAX = 40;
  private static final Map<Integer, Config> CONFIGS = new HashMap<>();

  private final World world;
  final String node;
  private final KubeletModel kubelet;
  private final List<GpuModel> gpus;
  private final SplittableRandom random;
  private final Map<ExtenderReplica, Link> links = new LinkedHashMap<>();
  private @Nullable SimulatedPlugin plugin;
  private byte[] heldFile = new byte[0];
  private byte[] assignmentFile = new byte[0];
  private int replicas;
  private boolean registered;
  private long listsArriveAtMs;
  private long listedAtMs = -1;
  private long notBeforeMs;
  private List<GpuStatus> sampled = List.of();

  /** The plugin's end of a stream. */
  private static final class Link {
    @Nullable NodeConnection connection;
    BriefReports brief = new BriefReports();
    long sequence;
    long applied;
    long heardMs;
  }

  PluginModel(World world, String node, List<GpuModel> gpus, KubeletModel kubelet, int replicas) {
    super("plugin-" + node, world.queue, world.randoms.of("plugin-" + node));
    this.world = world;
    this.node = node;
    this.gpus = gpus;
    this.kubelet = kubelet;
    this.replicas = replicas;
    this.random = world.randoms.of("plugin delays " + node);
  }

  boolean registered() {
    return running() && registered;
  }

  int replicas() {
    return replicas;
  }

  private SimulatedPlugin plugin() {
    return Objects.requireNonNull(plugin);
  }

  private static Config config(int replicas) {
    return CONFIGS.computeIfAbsent(
        replicas,
        r ->
            SimulatedPlugin.config(
                """
                version: v1
                sharing:
                  timeSlicing:
                    resources:
                    - name: nvidia.com/gpu
                      replicas: %d
                """
                    .formatted(r)));
  }

  @Override
  void start() {
    super.start();
    links.clear();
    world.extenders.forEach(extender -> links.put(extender, new Link()));
    registered = false;
    listedAtMs = -1;
    notBeforeMs = 0;
    plugin = new SimulatedPlugin(node, node + "-" + incarnation());
    plugin().load(heldFile, assignmentFile, clockMs(), wallMs());
    plugin().configured("r" + replicas, config(replicas));
    sample();
    world.history.add(name, "starts");
    run(random.nextInt((int) REGISTER_MS_MAX), this::register);
    every(SAMPLE_MS, this::sample);
    every(READ_BACK_MS, this::readBack);
    every(HEARTBEAT_MS, this::heartbeat);
    every(
        1_000,
        () -> {
          if (plugin().expire(clockMs())) {
            assignmentsChanged();
          }
        });
    world.extenders.forEach(this::connectLater);
  }

  @Override
  void kill() {
    super.kill();
    for (Link link : links.values()) {
      NodeConnection open = link.connection;
      link.connection = null;
      if (open != null) {
        open.closeByPlugin();
      }
    }
    kubelet.endpointLost();
    world.history.add(name, "is killed");
  }

  void remove() {
    kill();
    removed = true;
    loseState();
  }

  /** Its state folder is emptied while it does not run. */
  void loseState() {
    heldFile = new byte[0];
    assignmentFile = new byte[0];
  }

  /** Its config file changes. */
  void configure(int now) {
    if (replicas != now) {
      replicas = now;
      world.history.add(name, "is configured for " + now + " replicas per GPU");
      if (running()) {
        run(
            0,
            () -> {
              plugin().configured("r" + now, config(now));
              publish();
              sendAll();
            });
      }
    }
  }

  private void sample() {
    long nowMs = clockMs();
    var now = new ArrayList<GpuStatus>(gpus.size());
    for (GpuModel gpu : gpus) {
      now.add(gpu.sample(kubelet.uses(gpu.uuid), nowMs));
    }
    sampled = now;
    plugin().sampled(sampled);
    publish();
    if (plugin().worthAReport(sampled)) {
      sendAll();
    }
  }

  // --- kubelet ---

  private void register() {
    if (!kubelet.running()) {
      run(REGISTER_MS_MAX, this::register);
      return;
    }
    registered = true;
    plugin().unregistered();
    publish();
    sendAll();
  }

  @Override
  void dropped() {
    if (running()) {
      registered = false;
      run(0, this::sendAll);
      run(200 + random.nextInt((int) REGISTER_MS_MAX), this::register);
    }
  }

  private void publish() {
    int of = incarnation();
    if (registered) {
      plugin()
          .publish(clockMs())
          .ifPresent(
              lists -> {
                // One stream carries them, so a later list never comes first.
                listsArriveAtMs = Math.max(listsArriveAtMs, queue.nowMs() + random.nextInt(60));
                kubelet.run(
                    listsArriveAtMs - queue.nowMs(), () -> kubelet.devices(this, of, lists));
              });
    }
  }

  private void readBack() {
    if (!registered || clockMs() < notBeforeMs) {
      return;
    }
    long requestedAtMs = clockMs();
    if (kubelet.listHangs()) {
      return;
    }
    var list = kubelet.list();
    run(
        1 + random.nextInt(15),
        () -> {
          listedAtMs = requestedAtMs;
          if (plugin().listed(list, clockMs())) {
            saveHeld();
            saveAssignments();
            publish();
            sendAll();
          }
        });
  }

  @Override
  List<String> prefer(String resource, List<String> available, List<String> mustInclude, int size) {
    notBeforeMs = clockMs() + CALL_GAP_MS;
    boolean late = kubelet.listHangs();
    if (late) {
      world.counts.count(Branch.LIST_TOO_LATE);
    }
    return plugin()
        .prefer(resource, available, mustInclude, size, late ? null : kubelet.list(), clockMs());
  }

  @Override
  SimulatedPlugin.Allocated allocate(String resource, List<String> ids) {
    SimulatedPlugin.Allocated answer = plugin().allocate(resource, ids, clockMs());
    notBeforeMs = clockMs() + SETTLE_MS;
    saveHeld();
    run(AFTER_ALLOCATE_MS, this::readBack);
    return answer;
  }

  private void saveHeld() {
    byte[] now = plugin().heldFile();
    run(random.nextInt(SAVE_MS_MAX), () -> heldFile = now);
  }

  private void saveAssignments() {
    byte[] now = plugin().assignmentFile(clockMs(), wallMs());
    run(random.nextInt(SAVE_MS_MAX), () -> assignmentFile = now);
  }

  // --- streams ---

  private void connectLater(ExtenderReplica extender) {
    run(250 + random.nextInt(RECONNECT_MS_MAX), () -> connect(extender));
  }

  private void connect(ExtenderReplica extender) {
    Link link = Objects.requireNonNull(links.get(extender));
    if (link.connection != null) {
      return;
    }
    boolean reachable =
        extender.running()
            && !world.network.blocked(name, extender.name)
            && !world.network.blocked(extender.name, name);
    if (!reachable) {
      connectLater(extender);
      return;
    }
    var connection = new NodeConnection(world, this, extender);
    link.connection = connection;
    link.brief = new BriefReports();
    link.sequence = 0;
    link.applied = 0;
    link.heardMs = clockMs();
    extender.run(world.network.delayMs(name, extender.name), () -> extender.opened(connection));
    run(20, () -> send(link));
  }

  private void sendAll() {
    links.values().forEach(this::send);
  }

  private void send(Link link) {
    NodeConnection connection = link.connection;
    if (connection == null) {
      return;
    }
    long listAgeMs = listedAtMs < 0 ? -1 : clockMs() - listedAtMs;
    NodeReport whole =
        plugin()
            .report(registered, listAgeMs, clockMs(), wallMs())
            .setSequence(++link.sequence)
            .setAppliedDirective(link.applied)
            .build();
    connection.report(link.brief.of(whole));
  }

  private void heartbeat() {
    for (Map.Entry<ExtenderReplica, Link> each : links.entrySet()) {
      Link link = each.getValue();
      NodeConnection connection = link.connection;
      if (connection == null) {
        continue;
      }
      boolean answers =
          connection.peerRuns()
              && !world.network.blocked(name, each.getKey().name)
              && !world.network.blocked(each.getKey().name, name);
      if (answers) {
        link.heardMs = clockMs();
        send(link);
      } else if (clockMs() - link.heardMs > PONG_MS) {
        link.connection = null;
        connection.closeByPlugin();
        connectLater(each.getKey());
      } else {
        send(link);
      }
    }
  }

  /** A directive has come. */
  void directed(NodeConnection from, NodeDirective directive) {
    for (Link link : links.values()) {
      if (link.connection == from) {
        plugin().apply(directive, clockMs());
        link.applied = Math.max(link.applied, directive.getSequence());
        if (directive.getAssignCount() + directive.getRetractPodUidsCount() > 0) {
          assignmentsChanged();
        } else {
          send(link);
        }
      }
    }
  }

  private void assignmentsChanged() {
    saveAssignments();
    sendAll();
  }

  /** The extender has ended the stream. */
  void ended(NodeConnection connection) {
    links.forEach(
        (extender, link) -> {
          if (link.connection == connection) {
            link.connection = null;
            connectLater(extender);
          }
        });
  }
}
