package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.compat.Translation;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Mutation.Denied;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuContainer;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.PlacementAnnotations;
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
          Names.LABEL_MEMORY,
          Names.LABEL_MEMORY_USABLE,
          Names.SERVED_BY);

  private static final Set<String> KSERVE_WITHOUT_MODEL = Set.of("transformer", "explainer");

  private static final int LIMIT_RANGE_WARNINGS_MAX = 3;

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
        SizeLimits.tooLarge(arrived)
            .or(
                () ->
                    rules.resources().stream()
                        .flatMap(resource -> aboveAnyNode(arrived, resource).stream())
                        .findFirst());
    if (tooLarge.isPresent()) {
      return Denied.of(List.of(tooLarge.get()));
    }
    Added added = Added.of(arrived);
    boolean keeps = added.requirements().isEmpty() || keepsRequirements(arrived, cluster);
    var owners =
        OwnersPod.of(
            arrived, added, rules.resource(), keeps ? label -> false : OF_CLUSTER::contains);
    var messages = new Messages();
    PodDecision decision = decide(owners, cluster, messages);
    return messages.denied()
        ? Denied.of(messages.problems())
        : new PodWriter(owners, rules, messages).write(decision, cluster.runtimeClassExists());
  }

  private static Optional<Problem> aboveAnyNode(PodView pod, String resource) {
    return SizeLimits.aboveAnyNode(ShareRules.requests(pod, List.of(), resource), "of " + resource);
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

  /** Decides, unless the messages deny the pod. */
  private PodDecision decide(OwnersPod owners, MutationRules.Cluster cluster, Messages messages) {
    PodView pod = owners.pod();
    boolean other = isOtherScheduler(pod.text("schedulerName"));
    Optional<String> share = GpuRequests.firstKey(pod.annotations());
    if (other && share.isPresent()) {
      // Beside a share, a number would mean something else than the share says.
      String scheduler = pod.text("schedulerName");
      if (requestsOurResource(pod)) {
        messages.deny(Denial.OTHER_SCHEDULER.of(scheduler, share.get(), rules.resource()));
      } else {
        messages.warn(Warning.FOREIGN_SCHEDULER.of(scheduler, share.get()));
      }
      return leave(owners);
    }
    if (other ? !requestsOurResource(pod) : share.isEmpty() && isOnOtherNode(pod, cluster)) {
      return leave(owners);
    }
    PodView translated =
        Translation.of(pod, other ? Set.of() : rules.dialects(), rules.resource(), messages);
    return requestsOurResource(translated) && ForeignNodes.keep(translated, cluster, rules)
        ? byOthers(owners, translated, cluster, messages)
        : byPlugin(owners, translated, other, cluster, messages);
  }

  /** Leaves the pod as its owner wrote it. */
  private static PodDecision leave(OwnersPod owners) {
    return PodDecision.leave(
        owners.pod(), false, new RequiredNodeAffinity(owners.pod(), owners.added()));
  }

  /**
   * Leaves the pod to foreign nodes, where its number counts what their driver or plugin says. The
   * scheduler stays: two schedulers that allocate devices of one DRA driver could give both the
   * same one.
   */
  private PodDecision byOthers(
      OwnersPod owners, PodView pod, MutationRules.Cluster cluster, Messages messages) {
    var affinity = new RequiredNodeAffinity(pod, owners.added());
    ForeignNodes.requireNoneOfOurs(pod, cluster, rules, affinity);
    PlacementAnnotations.warnOfUnknown(pod.annotations(), messages);
    return PodDecision.leave(pod, true, affinity);
  }

  /**
   * Decides about a pod for nodes with Tranche's plugin. Another scheduler's pod keeps its
   * scheduler. Only its number of whole GPUs is written as replicas, so that it means the same
   * whoever places the pod.
   */
  private PodDecision byPlugin(
      OwnersPod owners,
      PodView pod,
      boolean other,
      MutationRules.Cluster cluster,
      Messages messages) {
    boolean countsGpus = countsGpus(pod, cluster);
    GpuRequests requests = requests(pod, other, countsGpus, messages);
    var affinity = new RequiredNodeAffinity(pod, owners.added());
    if (messages.denied()) {
      return PodDecision.leave(pod, false, affinity);
    }
    boolean numbered = requestsOurResource(pod);
    boolean placed = !other && (numbered || !requests.isEmpty());
    if (placed) {
      CandidateNodes.requireModel(pod, cluster.nodes(), affinity);
      CandidateNodes.requireNoMps(pod, affinity);
    }
    if (numbered && other) {
      ForeignNodes.requireNoDra(pod, cluster, affinity);
    }
    boolean besideForeign = numbered && ForeignNodes.areToo(pod, cluster, rules);
    List<Grant> grants = List.of();
    if (requests.isEmpty()) {
      warnOfReplicas(pod, placed, cluster, messages);
    } else {
      Optional<Grants> granted = Grants.of(pod, requests, cluster, rules, countsGpus, messages);
      granted.ifPresent(g -> g.require(affinity, besideForeign));
      grants = granted.map(Grants::list).orElse(List.of());
      requests.chosen().flatMap(GpuContainer::warning).ifPresent(messages::warn);
      grants.stream()
          .filter(grant -> grant.roundedUp() || isConverted(grant, owners))
          .map(Grant::warning)
          .forEach(messages::warn);
    }
    if (besideForeign && (placed || !grants.isEmpty())) {
      messages.warn(
          Warning.FOREIGN_NODES.of(rules.resource(), Names.PLAIN_REQUESTS, Names.UNCHANGED));
    }
    if (!other) {
      warn(pod, numbered, requests, messages);
    }
    return new PodDecision(pod, false, affinity, grants, requests.chosen(), placed);
  }

  /** Reads the pod's annotations and numbers. */
  private GpuRequests requests(PodView pod, boolean other, boolean countsGpus, Messages messages) {
    GpuRequests requests =
        other ? GpuRequests.NONE : GpuRequests.read(pod, rules.resource(), messages);
    if (countsGpus) {
      requests = requests.withPlain(pod, rules.resource(), messages);
    }
    if (!other) {
      PlacementAnnotations.check(pod.annotations(), messages);
      PlacementAnnotations.checkLimits(pod, rules.memory().limits().optOut(), messages);
    }
    return requests;
  }

  /** Whether a number of GPUs becomes replicas only now. */
  private boolean isConverted(Grant grant, OwnersPod owners) {
    return grant.wholeGpus() > 0
        && owners.arrived(grant.request().container()).requested(rules.resource())
            != grant.replicas();
  }

  /** Warns about a pod whose number, if it has one, counts replicas. */
  private void warnOfReplicas(
      PodView pod, boolean placed, MutationRules.Cluster cluster, Messages messages) {
    if (!requestsOurResource(pod)) {
      PlacementAnnotations.warnOfNoEffect(pod.annotations(), messages);
      return;
    }
    CandidateNodes candidates = CandidateNodes.of(pod, GpuRequests.NONE, cluster.nodes(), rules);
    if (placed && candidates.offMps()) {
      messages.warn(Warning.HOST_PID_OFF_MPS.of());
    }
    candidates.shmWarning(pod, GpuRequests.NONE, rules.resource()).ifPresent(messages::warn);
  }

  private void warn(PodView pod, boolean numbered, GpuRequests requests, Messages messages) {
    if (numbered) {
      List<Container> shares = requests.containersWithShares();
      pod.withNumberOfLimitRange(rules.resource()).stream()
          .filter(container -> !shares.contains(container))
          .limit(LIMIT_RANGE_WARNINGS_MAX)
          .map(c -> Warning.LIMIT_RANGE.of(c.name(), rules.resource()))
          .forEach(messages::warn);
    }
    if (GpuRequests.firstKey(pod.annotations()).isPresent()) {
      if (!numbered) {
        warnOfKserve(pod, messages);
      }
      if (pod.annotations().containsKey(Names.PLAIN_REQUESTS)) {
        messages.warn(Warning.OPT_OUT_NO_EFFECT.of(Names.PLAIN_REQUESTS));
      }
    }
    PlacementAnnotations.warnOfUnknown(pod.annotations(), messages);
  }

  /** KServe copies the annotations of an InferenceService to all of its pods. */
  private static void warnOfKserve(PodView pod, Messages messages) {
    JsonNode labels = pod.pod().path("metadata").path("labels");
    String service = labels.path("serving.kserve.io/inferenceservice").asText("");
    String component = labels.path("component").asText("");
    if (!service.isEmpty() && KSERVE_WITHOUT_MODEL.contains(component)) {
      messages.warn(Warning.KSERVE_COMPONENT.of(component, service));
    }
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
