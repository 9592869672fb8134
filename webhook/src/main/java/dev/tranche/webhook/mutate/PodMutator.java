package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.compat.KserveComponent;
import dev.tranche.webhook.compat.Translation;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Mutation.Denied;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuContainer;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.LimitAnnotations;
import dev.tranche.webhook.request.LimitRangeDefaults;
import dev.tranche.webhook.request.PlacementAnnotations;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Turns the fractions that a new pod requests into replicas, and selects the scheduler that
 * understands them. It decides about the pod as its owner wrote it, so applied to its own result,
 * it changes nothing. {@link PodWriter} writes what is decided.
 */
public final class PodMutator {
  /**
   * Requirements of these labels follow from the cluster, and the others from the pod. Nobody can
   * have us remove those of other webhooks by saying that they are ours.
   */
  private static final Set<String> OF_CLUSTER =
      Set.of(
          Names.LABEL_REPLICAS_PER_GPU,
          Names.LABEL_REPLICAS,
          Names.LABEL_MEMORY,
          Names.LABEL_MEMORY_USABLE,
          Names.SERVED_BY);

  private final MutationRules rules;

  public PodMutator(MutationRules rules) {
    this.rules = rules;
  }

  /**
   * @param pod at its creation, as JSON; not changed
   */
  public Mutation mutate(JsonNode pod, MutationRules.Cluster cluster) {
    var arrived = new PodView(pod);
    Optional<Problem> tooLarge =
        SizeLimits.tooLarge(arrived).or(() -> SizeLimits.aboveAnyNode(arrived, rules.resources()));
    if (tooLarge.isPresent()) {
      return Denied.of(List.of(tooLarge.get()));
    }
    Added added = Added.of(arrived);
    boolean keeps = added.requirements().isEmpty() || keepsRequirements(arrived, cluster);
    var owners =
        OwnersPod.of(arrived, added, resource(), keeps ? label -> false : OF_CLUSTER::contains);
    return switch (decide(owners, cluster)) {
      case Decision.Refused(var problems) -> Denied.of(problems);
      case Decision.Admitted admitted ->
          new PodWriter(owners, rules).write(admitted, cluster.runtimeClassExists());
    };
  }

  /**
   * Whether a choice between nodes holds: some node is as the pod requires, or none is known that
   * Tranche's plugin serves.
   */
  private boolean keepsRequirements(PodView pod, MutationRules.Cluster cluster) {
    var selection = new NodeSelection(pod.spec());
    return !ForeignNodes.leavesNumbers(pod, rules)
        && (cluster.nodes().stream().noneMatch(n -> n.replicasPerGpu().isPresent())
            || Stream.concat(cluster.nodes().stream(), cluster.foreign().stream())
                .anyMatch(selection::admits));
  }

  private Decision decide(OwnersPod owners, MutationRules.Cluster cluster) {
    PodView pod = owners.pod();
    boolean other = isOtherScheduler(pod.text("schedulerName"));
    Optional<String> share = GpuRequests.firstKey(pod.annotations());
    if (other && share.isPresent()) {
      // Beside a share, a number would mean something else than the share says.
      String scheduler = pod.text("schedulerName");
      return requestsOurResource(pod)
          ? new Decision.Refused(
              List.of(Denial.OTHER_SCHEDULER.of(scheduler, share.get(), resource())))
          : leave(owners, List.of(Warning.FOREIGN_SCHEDULER.of(scheduler, share.get())));
    }
    if (other ? !requestsOurResource(pod) : share.isEmpty() && isOnOtherNode(pod, cluster)) {
      return leave(owners, List.of());
    }
    Translation translation =
        Translation.of(pod, other ? Set.of() : rules.dialects(), resource(), cluster.nodes());
    if (!requestsOurResource(translation.view())
        || !ForeignNodes.keep(translation.view(), cluster, rules)) {
      return byPlugin(owners, translation, other, cluster);
    }
    return translation.problems().isEmpty()
        ? byOthers(owners, translation, cluster)
        : new Decision.Refused(translation.problems());
  }

  /** Leaves the pod as its owner wrote it. */
  private Decision leave(OwnersPod owners, List<String> warnings) {
    PodView pod = owners.pod();
    return new Decision.Admitted(
        Translation.of(pod, Set.of(), resource(), List.of()),
        false,
        new NodeAffinityPatch(owners, pod),
        Decision.Grants.NONE,
        warnings);
  }

  /**
   * Leaves the pod to foreign nodes, where its number counts what their driver or plugin says. The
   * scheduler stays: two schedulers that allocate devices of one DRA driver could give both the
   * same one.
   */
  private Decision byOthers(
      OwnersPod owners, Translation translation, MutationRules.Cluster cluster) {
    PodView pod = translation.view();
    var affinity = new NodeAffinityPatch(owners, pod);
    ForeignNodes.requireNoneOfOurs(pod, cluster, rules, affinity);
    var warnings = new ArrayList<>(translation.warnings());
    PlacementAnnotations.warnOfUnknown(pod.annotations(), warnings);
    return new Decision.Admitted(translation, true, affinity, Decision.Grants.NONE, warnings);
  }

  /**
   * Decides about a pod for nodes with Tranche's plugin. Another scheduler's pod keeps its
   * scheduler. Only its number of whole GPUs is written as replicas, so that it means the same
   * whoever places the pod.
   */
  private Decision byPlugin(
      OwnersPod owners, Translation translation, boolean other, MutationRules.Cluster cluster) {
    PodView pod = translation.view();
    var problems = new ArrayList<>(translation.problems());
    boolean countsGpus = countsGpus(pod, cluster);
    GpuRequests requests = requests(pod, other, countsGpus, problems);
    if (!problems.isEmpty()) {
      return new Decision.Refused(problems);
    }
    var warnings = new ArrayList<>(translation.warnings());
    boolean numbered = requestsOurResource(pod);
    boolean placed = !other && (numbered || !requests.isEmpty());
    var affinity = new NodeAffinityPatch(owners, pod);
    if (placed) {
      CandidateNodes.requireModel(pod, cluster.nodes(), affinity);
      CandidateNodes.requireNoMps(pod, affinity);
    }
    boolean besideForeign = numbered && ForeignNodes.areToo(pod, cluster, rules);
    Optional<GrantResult.Granted> granted = Optional.empty();
    if (numbered && other) {
      ForeignNodes.requireNoDra(pod, cluster, affinity);
    }
    if (requests.isEmpty()) {
      warnOfReplicas(pod, placed, cluster, warnings);
    } else {
      switch (GrantResult.of(pod, requests, cluster, rules, countsGpus)) {
        case GrantResult.Refused(var reasons) -> problems.addAll(reasons);
        case GrantResult.Granted grants -> {
          grants.require(affinity, besideForeign);
          requests.chosen().flatMap(GpuContainer::warning).ifPresent(warnings::add);
          warnings.addAll(grants.warnings());
          grants.grants().stream()
              .filter(grant -> grant.roundedUp() || isConverted(grant, owners))
              .map(Grant::warning)
              .forEach(warnings::add);
          granted = Optional.of(grants);
        }
      }
    }
    if (!problems.isEmpty()) {
      return new Decision.Refused(problems);
    }
    if (besideForeign && (placed || granted.isPresent())) {
      warnings.add(Warning.FOREIGN_NODES.of(resource(), Names.PLAIN_REQUESTS, Names.UNCHANGED));
    }
    if (!other) {
      warn(pod, numbered, requests, warnings);
    }
    var grants = new Decision.Grants(granted, requests.chosen(), placed);
    return new Decision.Admitted(translation, false, affinity, grants, warnings);
  }

  /**
   * @param problems receives what is wrong with the pod's annotations and numbers
   */
  private GpuRequests requests(
      PodView pod, boolean other, boolean countsGpus, List<Problem> problems) {
    GpuRequests requests = other ? GpuRequests.NONE : GpuRequests.read(pod, resource(), problems);
    if (countsGpus) {
      requests = requests.withPlain(pod, resource(), problems);
    }
    if (!other) {
      PlacementAnnotations.check(pod.annotations(), problems);
      LimitAnnotations.check(pod, rules.memory().limits().optOut(), problems);
    }
    return requests;
  }

  /** Whether a number of GPUs becomes replicas only now. */
  private boolean isConverted(Grant grant, OwnersPod owners) {
    return grant.wholeGpus() > 0
        && owners.arrived(grant.request().container()).requested(resource()) != grant.replicas();
  }

  /** Warns about a pod whose number, if it has one, counts replicas. */
  private void warnOfReplicas(
      PodView pod, boolean placed, MutationRules.Cluster cluster, List<String> warnings) {
    if (!requestsOurResource(pod)) {
      PlacementAnnotations.warnOfNoEffect(pod.annotations(), warnings);
      return;
    }
    CandidateNodes candidates = CandidateNodes.of(pod, GpuRequests.NONE, cluster.nodes(), rules);
    if (placed && candidates.offMps()) {
      warnings.add(Warning.HOST_PID_OFF_MPS.of());
    }
    candidates.shmWarning(pod, GpuRequests.NONE, resource()).ifPresent(warnings::add);
  }

  private void warn(PodView pod, boolean numbered, GpuRequests requests, List<String> warnings) {
    if (numbered) {
      LimitRangeDefaults.warn(pod, resource(), requests.containersWithShares(), warnings);
    }
    if (GpuRequests.firstKey(pod.annotations()).isPresent()) {
      if (!numbered) {
        KserveComponent.warning(pod).ifPresent(warnings::add);
      }
      if (pod.annotations().containsKey(Names.PLAIN_REQUESTS)) {
        warnings.add(Warning.OPT_OUT_NO_EFFECT.of(Names.PLAIN_REQUESTS));
      }
    }
    PlacementAnnotations.warnOfUnknown(pod.annotations(), warnings);
  }

  /** Fractions become replicas of the first resource. */
  private String resource() {
    return rules.resources().getFirst();
  }

  private boolean isOtherScheduler(String schedulerName) {
    return !schedulerName.isEmpty()
        && !schedulerName.equals(OwnersPod.DEFAULT_SCHEDULER)
        && !schedulerName.equals(rules.schedulerName());
  }

  private boolean countsReplicas(PodView pod) {
    return rules.replicaSchedulers().contains(pod.text("schedulerName"));
  }

  /** Whether a plain number of the resource counts GPUs. */
  private boolean countsGpus(PodView pod, MutationRules.Cluster cluster) {
    boolean windows = pod.spec().path("os").path("name").asText("").equals("windows");
    return rules.plainRequests() != MutationRules.PlainRequests.REPLICAS
        && !countsReplicas(pod)
        && !isOnOtherNode(pod, cluster)
        && !windows;
  }

  /**
   * Whether spec.nodeName names a node that is not known to be ours. That node's plugin decides
   * what a number counts, and it may not have our RuntimeClass.
   */
  private static boolean isOnOtherNode(PodView pod, MutationRules.Cluster cluster) {
    String node = pod.text("nodeName");
    return !node.isEmpty()
        && cluster.nodes().stream()
            .noneMatch(n -> n.name().equals(node) && n.replicasPerGpu().isPresent());
  }

  private boolean requestsOurResource(PodView pod) {
    return rules.resources().stream().anyMatch(pod::requests);
  }
}
