package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.ArrayList;
import java.util.List;

/** What comes of a pod's asks on the nodes that it can land on. */
sealed interface GrantCalculator {
  /**
   * @param cut of the nodes that it is to land on
   * @param pinnedMib the memory that nodes must be labelled with; empty: any
   */
  record Granted(
      List<Grant> grants, ReplicaGranularity cut, List<String> pinnedMib, List<String> warnings)
      implements GrantCalculator {
    public Granted {
      grants = List.copyOf(grants);
      pinnedMib = List.copyOf(pinnedMib);
      warnings = List.copyOf(warnings);
    }

    /** Keeps the pod on nodes where its replicas mean what they were computed to mean. */
    void require(Affinity affinity) {
      if (cut.pinned()) {
        String replicas = String.valueOf(cut.replicasPerGpu());
        affinity.require(Names.LABEL_REPLICAS, "In", List.of(replicas));
      }
      // Always: replicas of a GPU with another memory would be another amount.
      if (!pinnedMib.isEmpty()) {
        affinity.require(Names.LABEL_MEMORY, "In", pinnedMib);
      }
    }
  }

  /** The pod is denied, in these sentences. */
  record Refused(List<Problem> reasons) implements GrantCalculator {
    public Refused {
      reasons = List.copyOf(reasons);
    }
  }

  /**
   * @param asks at least one
   * @param nodes all that are labelled
   */
  static GrantCalculator of(
      PodView pod, GpuRequests asks, List<GpuNode> nodes, MutationRules rules) {
    CandidateNodes landing = CandidateNodes.of(pod, asks, nodes, rules);
    ReplicaGranularity cut = ReplicaGranularity.of(landing, rules.defaultReplicasPerGpu());
    var warnings = new ArrayList<String>();
    cut.warning().ifPresent(warnings::add);
    if (landing.able().isEmpty() && !nodes.isEmpty()) {
      warnings.add(Warning.NO_NODE.of());
    }
    if (asks.memoryBytesMax().isEmpty()) {
      return of(pod, asks, cut, 0, List.of(), warnings, rules);
    }
    return switch (GpuMemory.of(asks, cut, rules.memory())) {
      case GpuMemory.Refused(Problem reason) -> new Refused(List.of(reason));
      case GpuMemory.Known(long usableBytes, var pinnedMib, var warning) -> {
        warning.ifPresent(warnings::add);
        yield of(pod, asks, cut.on(pinnedMib), usableBytes, pinnedMib, warnings, rules);
      }
    };
  }

  /** Once: of our own result the request is already in replicas. */
  private static boolean multiplied(Grant grant, String resource) {
    return grant.wholeGpus() > 0 && grant.ask().container().requested(resource) != grant.replicas();
  }

  private static GrantCalculator of(
      PodView pod,
      GpuRequests asks,
      ReplicaGranularity cut,
      long usableBytes,
      List<String> pinnedMib,
      List<String> warnings,
      MutationRules rules) {
    List<Grant> grants = Grant.of(asks, cut.replicasPerGpu(), usableBytes);
    List<Problem> denials = PodRules.of(pod, grants, cut, rules.resources().getFirst());
    if (!denials.isEmpty()) {
      return new Refused(denials);
    }
    String resource = rules.resources().getFirst();
    grants.stream()
        .filter(g -> g.roundedUp() || multiplied(g, resource))
        .map(Grant::warning)
        .forEach(warnings::add);
    asks.asks().stream()
        .map(GpuRequests.Ask::container)
        .filter(c -> !c.spec().path("resources").path("claims").isEmpty())
        .map(c -> Warning.CLAIMS.of(c.name()))
        .forEach(warnings::add);
    return new Granted(grants, cut, pinnedMib, warnings);
  }
}
