package dev.tranche.nodeplugin;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ConfigStatus;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Hardware;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the node knows of itself. Confined to the event loop. */
final class PluginState {
  private final Supplier<Hardware> hardware;
  private final HeldReplicas held = new HeldReplicas();
  // In use in an earlier run, as the config that this one was given first.
  private Outcome.@Nullable Usable before;
  // The last one asked for; it may not fit the GPUs of now and fit those of later.
  private Outcome.@Nullable Usable wanted;
  private Outcome.@Nullable Usable config;
  private SharingPlan.@Nullable Fits plan;
  private String configError = "";
  private @Nullable List<GpuStatus> gpus;
  private String driverAwaited = "";
  private String driverVersion = "";
  private List<Holding> holdings = List.of();
  private boolean holdingsKnown;
  private boolean draining;
  private MpsAvailability mps = new MpsAvailability.NotNeeded();
  private List<Object> replicasMadeOf = List.of();
  private @Nullable NodeReplicas replicas;

  /**
   * @param hardware asked once GPUs are known
   */
  PluginState(Supplier<Hardware> hardware) {
    this.hardware = hardware;
  }

  /** Uses a config from now on, unless it does not fit these GPUs; then the one before stays. */
  Optional<SharingPlan> config(Outcome.Usable now) {
    wanted = now;
    if (gpus == null) {
      // Only the first can have been in use; those between it and the newest never were.
      before = before == null ? config : before;
      config = now;
      return Optional.empty();
    }
    return Optional.of(plan(now, gpus));
  }

  private SharingPlan plan(Outcome.Usable now, List<GpuStatus> of) {
    SharingPlan planned = made(now, of);
    if (planned instanceof SharingPlan.Fits fits) {
      config = now;
      plan = fits;
    } else if (plan == null) {
      plan = before != null && made(before, of) instanceof SharingPlan.Fits old ? old : null;
      config = plan == null ? null : before;
    } else if (config != null
        && SharingPlan.of(config.config(), infos(of)) instanceof SharingPlan.Fits old) {
      plan = old;
    }
    return planned;
  }

  private SharingPlan made(Outcome.Usable usable, List<GpuStatus> of) {
    Config by = usable.config();
    return hardware
        .get()
        .nodes()
        .missing(by.allocate())
        .<SharingPlan>map(SharingPlan.DoesNotFit::new)
        .orElseGet(() -> SharingPlan.of(by, infos(of)));
  }

  private static List<GpuInfo> infos(List<GpuStatus> gpus) {
    return gpus.stream().map(GpuStatus::info).toList();
  }

  /**
   * Why the config last asked for is not in use.
   *
   * @param now empty: it is
   */
  void configError(String now) {
    configError = now;
  }

  /** The name is that of the config in use, whatever was asked for since. */
  ConfigStatus configStatus() {
    return ConfigStatus.newBuilder()
        .setName(config == null ? "" : config.name())
        .setError(configError)
        .build();
  }

  /** The plan of the config last asked for, if these are other GPUs than before. */
  Optional<SharingPlan> gpus(List<GpuStatus> now) {
    boolean same = gpus != null && infos(gpus).equals(infos(now));
    gpus = now;
    return same || wanted == null ? Optional.empty() : Optional.of(plan(wanted, now));
  }

  List<GpuStatus> gpus() {
    return gpus == null ? List.of() : gpus;
  }

  /** As the node serves them: without its MPS control daemon a GPU is not healthy. */
  List<GpuStatus> served() {
    return mps instanceof MpsAvailability.Lost lost
        ? gpus().stream().map(gpu -> without(lost, gpu)).toList()
        : gpus();
  }

  private GpuStatus without(MpsAvailability.Lost daemon, GpuStatus gpu) {
    GpuSharing how = plan == null ? null : plan.byUuid().get(gpu.info().uuid());
    return how != null && how.strategy() == SharingStrategy.MPS
        ? new GpuStatus(gpu.info(), gpu.health().silent(daemon.reason()), gpu.load(), gpu.uses())
        : gpu;
  }

  /**
   * The MPS control daemons that the config needs. A daemon need not serve a lost GPU; where all
   * are lost, the need for it stays.
   */
  MpsPlan mpsPlan(boolean standAlone) {
    if (gpus == null || plan == null) {
      return MpsPlan.NONE;
    }
    List<GpuStatus> there =
        gpus.stream().filter(gpu -> !(gpu.health() instanceof Health.Lost)).toList();
    MpsPlan needed = MpsPlan.of(plan.byUuid(), infos(there), standAlone);
    return needed.needed() ? needed : MpsPlan.of(plan.byUuid(), infos(gpus), standAlone);
  }

  void mps(MpsAvailability now) {
    mps = now;
  }

  MpsAvailability mps() {
    return mps;
  }

  boolean gpusKnown() {
    return gpus != null;
  }

  void driverAwaited(String reason) {
    driverAwaited = reason;
  }

  void driverVersion(String version) {
    driverVersion = version;
  }

  String driverVersion() {
    return driverVersion;
  }

  /** Why this node has nothing to serve; empty: it has, or that is not known yet. */
  Optional<String> idle() {
    if (gpus != null && !gpus.isEmpty() && plan != null && plan.byUuid().isEmpty()) {
      return Optional.of(
          "the config makes nothing of the GPUs of this node, so there is nothing to advertise: with"
              + " MIG on, create MIG devices (nvidia-smi mig -cgi) or set migStrategy to none");
    }
    if (gpus != null) {
      return gpus.isEmpty()
          ? Optional.of("there is no usable GPU on this node, so there is nothing to advertise")
          : Optional.empty();
    }
    return driverAwaited.isEmpty()
        ? Optional.empty()
        : Optional.of("this node waits for a driver: " + driverAwaited);
  }

  boolean configKnown() {
    return config != null;
  }

  /** Empty until both the GPUs and a config that fits them are known; the same until news. */
  Optional<NodeReplicas> replicas() {
    if (gpus == null || config == null || plan == null) {
      return Optional.empty();
    }
    if (mps instanceof MpsAvailability.Awaited) {
      return Optional.ofNullable(replicas);
    }
    List<GpuStatus> served = served();
    Map<String, GpuSharing> sharing =
        mps instanceof MpsAvailability.Missing
            ? MpsPlan.without(plan.byUuid(), config.config(), infos(served))
            : plan.byUuid();
    List<Object> madeOf = madeOf(config.config(), sharing, served);
    if (replicas == null || !madeOf.equals(replicasMadeOf)) {
      replicasMadeOf = madeOf;
      replicas = NodeReplicas.of(config.config(), served, sharing, held.all());
    }
    return Optional.of(replicas);
  }

  private List<Object> madeOf(
      Config config, Map<String, GpuSharing> sharing, List<GpuStatus> gpus) {
    List<Object> parts = new ArrayList<>(List.of(config, sharing, held.all()));
    gpus.forEach(gpu -> parts.addAll(List.of(gpu.info(), gpu.health().healthy())));
    return parts;
  }

  /**
   * The assignment with the replicas per GPU that its shares are counted in: those that are offered
   * now, which may be others than the config's while an MPS daemon is missing. Left open where its
   * GPUs differ.
   */
  Assignment counted(Assignment assignment) {
    if (assignment.getReplicasPerGpu() > 0) {
      return assignment;
    }
    Map<String, GpuSharing> sharing = replicas().map(NodeReplicas::sharing).orElse(Map.of());
    List<Integer> counts =
        assignment.getContainersList().stream()
            .flatMap(container -> container.getSharesList().stream())
            .flatMap(share -> Optional.ofNullable(sharing.get(share.getUuid())).stream())
            .map(GpuSharing::replicas)
            .distinct()
            .toList();
    return counts.size() == 1
        ? assignment.toBuilder().setReplicasPerGpu(counts.getFirst()).build()
        : assignment;
  }

  /** Replicas that containers hold. */
  HeldReplicas held() {
    return held;
  }

  /** Whether that is news. */
  boolean holdings(List<Holding> now) {
    boolean news = !holdingsKnown || !holdings.equals(now);
    // What is made of them is kept for as long as they are the same object.
    holdings = news ? now : holdings;
    holdingsKnown = true;
    return news;
  }

  /**
   * Whether by these holdings other replicas are held than before.
   *
   * @param complete whether what they lack is free
   */
  boolean held(List<Holding> now, boolean complete, long nowMs) {
    return plan != null && held.update(now, complete, plan.byUuid(), nowMs);
  }

  List<Holding> holdings() {
    return holdings;
  }

  boolean holdingsKnown() {
    return holdingsKnown;
  }

  void drain() {
    draining = true;
  }

  boolean draining() {
    return draining;
  }
}
