package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.compat.Translation;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.pod.Warning;
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
public record PodMutator(MutationRules rules) {
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

  /**
   * @param pod at its creation, as JSON; not changed
   */
  public Mutation mutate(JsonNode pod, Cluster cluster) {
    var arrived = new PodView(pod);
    var messages = new Messages();
    if (SizeLimits.denyLarge(arrived, messages)
        || rules.resources().stream().anyMatch(each -> denyAboveAnyNode(arrived, each, messages))) {
      return messages.denial();
    }
    Added added = Added.of(arrived);
    boolean keeps = added.requirements().isEmpty() || keepsRequirements(arrived, cluster);
    var owners =
        OwnersPod.of(
            arrived, added, rules.resource(), keeps ? label -> false : OF_CLUSTER::contains);
    return new Review(owners, cluster, messages).mutate();
  }

  private static boolean denyAboveAnyNode(PodView pod, String resource, Messages messages) {
    List<Demand.Request> requests = ShareRules.requests(pod, List.of(), resource);
    return SizeLimits.denyAboveAnyNode(requests, "of " + resource, messages);
  }

  /**
   * Whether a choice between nodes holds: some node is as the pod requires, or none is known that
   * Tranche's plugin serves.
   */
  private boolean keepsRequirements(PodView pod, Cluster cluster) {
    var selection = new NodeSelection(pod.spec());
    return !new ForeignNodes(pod, cluster, rules).leavesNumbers()
        && (cluster.nodes().stream().noneMatch(n -> n.replicasPerGpu().isPresent())
            || Stream.concat(cluster.nodes().stream(), cluster.foreign().stream())
                .anyMatch(selection::admits));
  }

  private boolean isOtherScheduler(String schedulerName) {
    return !schedulerName.isEmpty()
        && !schedulerName.equals(OwnersPod.DEFAULT_SCHEDULER)
        && !schedulerName.equals(rules.schedulerName());
  }

  private boolean requestsOurResource(PodView pod) {
    return rules.resources().stream().anyMatch(pod::requests);
  }

  /** Of one pod. */
  private final class Review {
    private final OwnersPod owners;
    private final Cluster cluster;
    private final boolean other;
    private final RequiredNodeAffinity affinity;
    private final Messages messages;

    Review(OwnersPod owners, Cluster cluster, Messages messages) {
      this.owners = owners;
      this.cluster = cluster;
      this.messages = messages;
      other = isOtherScheduler(owners.pod().text("schedulerName"));
      affinity = new RequiredNodeAffinity(owners.pod(), owners.added());
    }

    Mutation mutate() {
      PodDecision decision = decide(owners.pod());
      return messages.denied()
          ? messages.denial()
          : new PodWriter(owners, affinity, rules, messages)
              .write(decision, cluster.runtimeClassExists());
    }

    /** Decides, unless the messages deny the pod. */
    private PodDecision decide(PodView pod) {
      Optional<String> share = GpuRequests.firstKey(pod.annotations());
      if (other && share.isPresent()) {
        // Beside a share, a number would mean something else than the share says.
        String scheduler = pod.text("schedulerName");
        if (requestsOurResource(pod)) {
          messages.deny(Denial.OTHER_SCHEDULER, scheduler, share.get(), rules.resource());
        } else {
          messages.warn(Warning.FOREIGN_SCHEDULER, scheduler, share.get());
        }
        return PodDecision.leave(false);
      }
      if (other ? !requestsOurResource(pod) : share.isEmpty() && isOnOtherNode(pod)) {
        return PodDecision.leave(false);
      }
      PodView translated =
          Translation.of(pod, other ? Set.of() : rules.dialects(), rules.resource(), messages);
      var foreign = new ForeignNodes(translated, cluster, rules);
      return requestsOurResource(translated) && foreign.keep()
          ? byOthers(translated, foreign)
          : byPlugin(translated, foreign);
    }

    /**
     * Leaves the pod to foreign nodes, where its number counts what their driver or plugin says.
     * The scheduler stays: two schedulers that allocate devices of one DRA driver could give both
     * the same one.
     */
    private PodDecision byOthers(PodView pod, ForeignNodes foreign) {
      foreign.requireNoneOfOurs(affinity);
      PlacementAnnotations.warnOfUnknown(pod.annotations(), messages);
      return PodDecision.leave(true);
    }

    /**
     * Decides about a pod for nodes with Tranche's plugin. Another scheduler's pod keeps its
     * scheduler. Only its number of whole GPUs is written as replicas, so that it means the same
     * whoever places the pod.
     */
    private PodDecision byPlugin(PodView pod, ForeignNodes foreign) {
      boolean countsGpus = countsGpus(pod);
      GpuRequests requests = requests(pod, countsGpus);
      if (messages.denied()) {
        return PodDecision.leave(false);
      }
      boolean numbered = requestsOurResource(pod);
      boolean placed = !other && (numbered || !requests.isEmpty());
      if (placed) {
        CandidateNodes.requireModel(pod, cluster.nodes(), affinity);
        CandidateNodes.requireNoMps(pod, affinity);
      }
      if (numbered && other) {
        foreign.requireNoDra(affinity);
      }
      boolean besideForeign = numbered && foreign.areToo();
      List<Grant> grants = List.of();
      if (requests.isEmpty()) {
        warnOfReplicas(pod, placed);
      } else {
        Optional<Grants> granted = Grants.of(pod, requests, cluster, rules, countsGpus, messages);
        granted.ifPresent(g -> g.require(affinity, besideForeign));
        grants = granted.map(Grants::list).orElse(List.of());
        grants.stream()
            .filter(grant -> grant.roundedUp() || isConverted(grant))
            .forEach(grant -> grant.warn(messages));
      }
      if (besideForeign && (placed || !grants.isEmpty())) {
        messages.warn(
            Warning.FOREIGN_NODES, rules.resource(), Names.PLAIN_REQUESTS, Names.UNCHANGED);
      }
      if (!other) {
        warn(pod, numbered, requests);
      }
      return new PodDecision(false, grants, requests.chosen(), placed);
    }

    /** Reads the pod's annotations and numbers. */
    private GpuRequests requests(PodView pod, boolean countsGpus) {
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
    private boolean isConverted(Grant grant) {
      return grant.wholeGpus() > 0
          && owners.arrived(grant.container()).requested(rules.resource()) != grant.replicas();
    }

    /** Warns about a pod whose number, if it has one, counts replicas. */
    private void warnOfReplicas(PodView pod, boolean placed) {
      if (!requestsOurResource(pod)) {
        PlacementAnnotations.warnOfNoEffect(pod.annotations(), messages);
        return;
      }
      var candidates = CandidateNodes.of(pod, GpuRequests.NONE, cluster.nodes(), rules);
      if (placed && candidates.offMps()) {
        messages.warn(Warning.HOST_PID_OFF_MPS);
      }
      candidates.warnOfShm(pod, GpuRequests.NONE, rules.resource(), messages);
    }

    private void warn(PodView pod, boolean numbered, GpuRequests requests) {
      if (numbered) {
        List<Container> shares = requests.containersWithShares();
        pod.withNumberOfLimitRange(rules.resource()).stream()
            .filter(container -> !shares.contains(container))
            .limit(LIMIT_RANGE_WARNINGS_MAX)
            .forEach(c -> messages.warn(Warning.LIMIT_RANGE, c.name(), rules.resource()));
      }
      if (GpuRequests.firstKey(pod.annotations()).isPresent()) {
        if (!numbered) {
          warnOfKserve(pod);
        }
        if (pod.annotations().containsKey(Names.PLAIN_REQUESTS)) {
          messages.warn(Warning.OPT_OUT_NO_EFFECT, Names.PLAIN_REQUESTS);
        }
      }
      PlacementAnnotations.warnOfUnknown(pod.annotations(), messages);
    }

    /** KServe copies the annotations of an InferenceService to all of its pods. */
    private void warnOfKserve(PodView pod) {
      JsonNode labels = pod.pod().path("metadata").path("labels");
      String service = text(labels, "serving.kserve.io/inferenceservice");
      String component = text(labels, "component");
      if (!service.isEmpty() && KSERVE_WITHOUT_MODEL.contains(component)) {
        messages.warn(Warning.KSERVE_COMPONENT, component, service);
      }
    }

    /** Whether a plain number of the resource counts GPUs. */
    private boolean countsGpus(PodView pod) {
      return rules.plainRequests() != MutationRules.PlainRequests.REPLICAS
          && !rules.replicaSchedulers().contains(pod.text("schedulerName"))
          && !isOnOtherNode(pod)
          && !pod.isOfWindows();
    }

    /**
     * Whether spec.nodeName names a node that is not known to be ours. That node's plugin decides
     * what a number counts, and it may not have our RuntimeClass.
     */
    private boolean isOnOtherNode(PodView pod) {
      String node = pod.text("nodeName");
      return !node.isEmpty()
          && cluster.nodes().stream()
              .noneMatch(n -> n.name().equals(node) && n.replicasPerGpu().isPresent());
    }
  }
}
