package dev.tranche.nodeplugin;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigFile;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldFile;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.kubelet.AssignmentFile;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.kubelet.SimulatedCalls;
import dev.tranche.nodeplugin.usage.Overuse;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The node plugin in the order of {@link NodePlugin}, without event loop, sockets and files. Times
 * are milliseconds of the caller's monotonic clock, except where said.
 */
public final class SimulatedPlugin {
  private static final OveruseOptions NO_OVERUSE = new OveruseOptions(0.05, 1_000_000, false);

  /**
   * An answer to Allocate.
   *
   * @param refusal empty if it was granted
   * @param replicasPerGpu that the pick counts as, by uuid
   */
  public record Allocated(String refusal, Map<String, Integer> replicasPerGpu) {
    public Allocated {
      replicasPerGpu = Map.copyOf(replicasPerGpu);
    }
  }

  private final PluginState state = new PluginState(() -> Hardware.NONE);
  private final SimulatedCalls calls = new SimulatedCalls(state.held());
  private final ReportBuilder reports;
  private final String node;
  private @Nullable NodeReplicas published;

  /**
   * @param instance identifies this run of the plugin
   */
  public SimulatedPlugin(String node, String instance) {
    this.node = node;
    this.reports = new ReportBuilder(node, instance, new Overuse(NO_OVERUSE));
  }

  /** Reads a config file's text. */
  public static Config config(String text) {
    var findings = new ConfigErrors();
    var settings = Settings.read(Setting.class, List.of(), Map.of(), findings);
    Config config = Config.of(settings, ConfigFile.parse(text, findings), findings);
    if (!findings.clean()) {
      throw new IllegalArgumentException(String.join("; ", findings.errors()));
    }
    return config;
  }

  /**
   * Restores what an earlier run has kept.
   *
   * @param wallMs milliseconds since 1970
   */
  public void load(byte[] held, byte[] assignments, long nowMs, long wallMs) {
    try {
      for (var kept : AssignmentFile.parse(assignments, wallMs)) {
        calls.receive(kept, nowMs);
      }
    } catch (InvalidProtocolBufferException broken) {
      throw new IllegalArgumentException("a file of assignments that this plugin wrote", broken);
    }
    state.held().restore(HeldFile.parse(held));
  }

  public byte[] heldFile() {
    return HeldFile.content(state.held().all());
  }

  /**
   * @param wallMs milliseconds since 1970
   */
  public byte[] assignmentFile(long nowMs, long wallMs) {
    return AssignmentFile.content(calls.remaining(nowMs), wallMs);
  }

  public void configured(String name, Config config) {
    state
        .config(new Outcome.Usable(name, config, Set.of(), ""))
        .ifPresent(plan -> state.configError(""));
  }

  public void sampled(List<GpuStatus> gpus) {
    var _ = state.gpus(gpus);
  }

  /** Returns whether the GPUs differ so much that a report should say so at once. */
  public boolean worthAReport(List<GpuStatus> gpus) {
    return reports.markReportedIfChanged(gpus);
  }

  /**
   * Returns the device lists, health by id, by resource; empty if the kubelet has them already, or
   * there are none yet.
   */
  public Optional<Map<String, Map<String, Boolean>>> publish(long nowMs) {
    NodeReplicas now = state.replicas().orElse(null);
    if (now == null || now.equals(published)) {
      return Optional.empty();
    }
    published = now;
    return Optional.of(calls.publish(now, nowMs));
  }

  /** The kubelet has dropped the plugin: the next call of {@link #publish} has everything. */
  public void unregistered() {
    published = null;
  }

  public void apply(NodeDirective directive, long nowMs) {
    directive.getRetractPodUidsList().forEach(uid -> calls.retract(uid, nowMs));
    directive.getAssignList().forEach(assignment -> calls.receive(assignment, nowMs));
  }

  public boolean expire(long nowMs) {
    return calls.expire(nowMs);
  }

  /**
   * Takes a List of the kubelet.
   *
   * @return whether there is something to report
   */
  public boolean listed(ListPodResourcesResponse list, long nowMs) {
    SimulatedCalls.ReadBack read = calls.listed(list, node);
    boolean changed = state.holdings(read.holdings());
    boolean held = state.held(read.holdings(), read.complete(), nowMs);
    return changed || held || read.confirmed();
  }

  public List<String> prefer(
      String resource,
      List<String> available,
      List<String> mustInclude,
      int size,
      @Nullable ListPodResourcesResponse list,
      long nowMs) {
    return calls.prefer(resource, available, mustInclude, size, list, nowMs);
  }

  /** Answers Allocate. */
  public Allocated allocate(String resource, List<String> ids, long nowMs) {
    String refusal = calls.allocate(resource, ids, nowMs);
    Map<String, Integer> replicas = new HashMap<>();
    if (refusal.isEmpty()) {
      state.held().all().stream()
          .filter(held -> held.resource().equals(resource) && ids.contains(held.id()))
          .forEach(held -> replicas.put(held.uuid(), held.replicasPerGpu()));
    }
    return new Allocated(refusal, replicas);
  }

  /**
   * @param listAgeMs negative before the first List
   * @param wallMs milliseconds since 1970
   */
  public NodeReport.Builder report(boolean registered, long listAgeMs, long nowMs, long wallMs) {
    NodeReport.Builder report =
        reports.report(state, registered, wallMs, nowMs).addAllAssignments(calls.remaining(nowMs));
    return listAgeMs < 0
        ? report
        : report.setHoldingsAgeMs((int) Math.min(Integer.MAX_VALUE, listAgeMs));
  }
}
