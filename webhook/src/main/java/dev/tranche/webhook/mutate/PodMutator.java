package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.compat.KserveComponent;
import dev.tranche.webhook.compat.Translation;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Mutation.Denied;
import dev.tranche.webhook.pod.Mutation.Patched;
import dev.tranche.webhook.pod.Mutation.Unchanged;
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
import java.util.function.Consumer;

/**
 * Turns the fractions that a new pod requests into replicas, and selects the scheduler that
 * understands them. Applied to its own result, it changes nothing.
 */
public final class PodMutator {
  private static final String DEFAULT_SCHEDULER = "default-scheduler";

  private final MutationRules rules;

  public PodMutator(MutationRules rules) {
    this.rules = rules;
  }

  /**
   * @param pod at its creation, as JSON; not changed
   */
  public Mutation mutate(JsonNode pod, MutationRules.Cluster cluster) {
    var original = new PodView(pod);
    Optional<Problem> tooLarge =
        SizeLimits.tooLarge(original)
            .or(() -> SizeLimits.aboveAnyNode(original, rules.resources()));
    if (tooLarge.isPresent()) {
      return denied(List.of(tooLarge.get()));
    }
    boolean left = ServedBy.leavesNumbers(original, rules);
    if (!left
        && countsGpus(original, cluster)
        && !rules.replicaSchedulers().contains(original.text("schedulerName"))) {
      return decide(original, cluster);
    }
    var written = NumbersWritten.takeBack(original, resource(), left);
    return written.before(decide(written.pod(), cluster));
  }

  private Mutation decide(PodView original, MutationRules.Cluster cluster) {
    if (isOtherScheduler(original.text("schedulerName"))) {
      return leaveToOtherScheduler(original, cluster);
    }
    boolean shares = GpuRequests.firstKey(original.annotations()).isPresent();
    return isOnOtherNode(original, cluster) && !shares
        ? leaveAlone(original, List.of())
        : grant(original, cluster);
  }

  private Mutation grant(PodView original, MutationRules.Cluster cluster) {
    Translation translation =
        Translation.of(original, rules.dialects(), rules.resources().getFirst(), cluster.nodes());
    PodView view = withoutStaleRequirements(translation.view(), cluster);
    var problems = new ArrayList<>(translation.problems());
    var patch = new JsonPatch();
    var warnings = new ArrayList<>(translation.warnings());
    translation.write(patch);
    boolean requestsResource = requestsOurResource(view);
    ServedBy servedBy = requestsResource ? servedBy(view, cluster) : ServedBy.DEVICE_PLUGIN;
    if (servedBy != ServedBy.DEVICE_PLUGIN) {
      return problems.isEmpty()
          ? leaveToOthers(servedBy, original, view, cluster, patch, warnings)
          : denied(problems);
    }
    boolean besideForeign = requestsResource && ServedBy.besideForeign(view, cluster, rules);
    GpuRequests requests = GpuRequests.read(view, resource(), problems);
    boolean countsGpus = countsGpus(view, cluster);
    if (countsGpus) {
      requests = requests.withPlain(view, resource(), problems);
    }
    PlacementAnnotations.check(view.annotations(), problems);
    LimitAnnotations.check(view, rules.memory().limits().optOut(), problems);
    if (!problems.isEmpty()) {
      return denied(problems);
    }
    ResultAnnotations resultAnnotations = ResultAnnotations.NONE;
    if (!requests.isEmpty()) {
      switch (GrantResult.of(view, requests, cluster, rules, countsGpus)) {
        case GrantResult.Refused(var reasons) -> {
          return denied(reasons);
        }
        case GrantResult.Granted granted -> {
          resultAnnotations =
              ResultAnnotations.of(granted.grants(), granted.granularity().replicasPerGpu());
          granted.grants().forEach(grant -> ResourceWriter.write(grant, resource(), patch));
          writePodFields(
              original,
              view,
              cluster,
              affinity -> granted.require(affinity, besideForeign),
              patch,
              problems);
          requests.chosen().ifPresent(container -> write(container, patch, warnings));
          warnings.addAll(granted.warnings());
        }
      }
    } else if (requestsResource) {
      CandidateNodes candidates = CandidateNodes.of(view, requests, cluster.nodes(), rules);
      PodRules.hostPidOnMps(candidates).ifPresent(problems::add);
      candidates.keptOffWarning().ifPresent(warnings::add);
      candidates.shmWarning(view, requests, resource()).ifPresent(warnings::add);
      writePodFields(original, view, cluster, affinity -> {}, patch, problems);
    } else {
      PlacementAnnotations.warnOfNoEffect(view.annotations(), warnings);
    }
    if (requestsResource) {
      servedBy.warning(view, cluster.nodes()).ifPresent(warnings::add);
      warnOfForeign(besideForeign, warnings);
      LimitRangeDefaults.warn(view, resource(), requests.containersWithShares(), warnings);
    }
    warnOfShare(view, requestsResource, warnings);
    PlacementAnnotations.warnOfUnknown(view.annotations(), warnings);
    resultAnnotations.write(view, patch);
    return problems.isEmpty() ? admitted(patch, warnings) : denied(problems);
  }

  private PodView withoutStaleRequirements(PodView pod, MutationRules.Cluster cluster) {
    return StaleRequirements.removeFrom(
        pod, cluster.nodes(), rules.defaultReplicasPerGpu(), rules.memory().isAssumed());
  }

  private static void warnOfShare(PodView pod, boolean numbered, List<String> warnings) {
    if (GpuRequests.firstKey(pod.annotations()).isEmpty()) {
      return;
    }
    if (!numbered) {
      KserveComponent.warning(pod).ifPresent(warnings::add);
    }
    if (pod.annotations().containsKey(Names.PLAIN_REQUESTS)) {
      warnings.add(Warning.OPT_OUT_NO_EFFECT.of(Names.PLAIN_REQUESTS));
    }
  }

  private static void write(GpuContainer chosen, JsonPatch patch, List<String> warnings) {
    patch.add(chosen.container().name(), "metadata", "annotations", Names.GPU_CONTAINER);
    chosen.warning().ifPresent(warnings::add);
  }

  private static Mutation admitted(JsonPatch patch, List<String> warnings) {
    return patch.isEmpty() ? new Unchanged(warnings) : new Patched(patch, warnings);
  }

  private static Denied denied(List<Problem> problems) {
    List<String> distinct =
        problems.stream().map(Problem::sentence).distinct().limit(Denial.PER_POD_MAX + 1L).toList();
    boolean more = distinct.size() > Denial.PER_POD_MAX;
    String sentences =
        String.join(" ", distinct.subList(0, more ? Denial.PER_POD_MAX : distinct.size()));
    return new Denied(
        more ? sentences + " " + Denial.MORE.template() : sentences,
        problems.getFirst().denial().toString());
  }

  /** Fractions become replicas of the first resource. */
  private String resource() {
    return rules.resources().getFirst();
  }

  private boolean isOtherScheduler(String schedulerName) {
    return !schedulerName.isEmpty()
        && !schedulerName.equals(DEFAULT_SCHEDULER)
        && !schedulerName.equals(rules.schedulerName());
  }

  /**
   * Leaves the pod to its scheduler. Only a number of whole GPUs is written as replicas, so that it
   * means the same whoever places the pod. Beside a share, it would mean something else than the
   * share says. Replicas are kept off nodes with a DRA driver.
   */
  private Mutation leaveToOtherScheduler(PodView pod, MutationRules.Cluster cluster) {
    String scheduler = pod.text("schedulerName");
    Optional<String> share = GpuRequests.firstKey(pod.annotations());
    if (share.isPresent()) {
      return requestsOurResource(pod)
          ? denied(List.of(Denial.OTHER_SCHEDULER.of(scheduler, share.get(), resource())))
          : leaveAlone(pod, List.of(Warning.FOREIGN_SCHEDULER.of(scheduler, share.get())));
    }
    ServedBy servedBy = requestsOurResource(pod) ? servedBy(pod, cluster) : ServedBy.DEVICE_PLUGIN;
    if (servedBy != ServedBy.DEVICE_PLUGIN) {
      return leaveToOthers(servedBy, pod, pod, cluster, new JsonPatch(), new ArrayList<>());
    }
    if (rules.replicaSchedulers().contains(scheduler) || !countsGpus(pod, cluster)) {
      return leaveReplicas(pod, cluster);
    }
    var problems = new ArrayList<Problem>();
    GpuRequests requests = GpuRequests.NONE.withPlain(pod, resource(), problems);
    if (!problems.isEmpty()) {
      return denied(problems);
    }
    if (requests.isEmpty()) {
      return leaveReplicas(pod, cluster);
    }
    return switch (GrantResult.of(pod, requests, cluster, rules, true)) {
      case GrantResult.Refused(var reasons) -> denied(reasons);
      case GrantResult.Granted granted -> {
        var patch = new JsonPatch();
        granted.grants().forEach(grant -> ResourceWriter.write(grant, resource(), patch));
        var affinity = new NodeAffinityPatch(pod.spec(), pod.spec());
        ServedBy.DEVICE_PLUGIN.require(pod, cluster, rules, affinity);
        boolean besideForeign = ServedBy.besideForeign(pod, cluster, rules);
        granted.require(affinity, besideForeign);
        Optional<Problem> large = affinity.write(patch);
        if (large.isPresent()) {
          yield denied(List.of(large.get()));
        }
        ResultAnnotations.of(granted.grants(), granted.granularity().replicasPerGpu())
            .write(pod, patch);
        var warnings = new ArrayList<>(granted.warnings());
        ServedBy.DEVICE_PLUGIN.warning(pod, cluster.nodes()).ifPresent(warnings::add);
        warnOfForeign(besideForeign, warnings);
        yield admitted(patch, warnings);
      }
    };
  }

  private void warnOfForeign(boolean besideForeign, List<String> warnings) {
    if (besideForeign) {
      warnings.add(Warning.FOREIGN_NODES.of(resource(), Names.PLAIN_REQUESTS, Names.UNCHANGED));
    }
  }

  /**
   * Leaves the pod to nodes with a DRA driver or to foreign ones, where its number counts what
   * their driver or plugin says. The scheduler stays: two schedulers that allocate devices of one
   * driver could give both the same one.
   *
   * @param others who serve the nodes
   * @param patch has the changes from the original to the pod; receives the others
   * @param warnings receives those of this choice
   */
  private Mutation leaveToOthers(
      ServedBy others,
      PodView original,
      PodView pod,
      MutationRules.Cluster cluster,
      JsonPatch patch,
      List<String> warnings) {
    var affinity = new NodeAffinityPatch(original.spec(), pod.spec());
    others.require(pod, cluster, rules, affinity);
    Optional<Problem> large = affinity.write(patch);
    if (large.isPresent()) {
      return denied(List.of(large.get()));
    }
    others.warning(pod, cluster.nodes()).ifPresent(warnings::add);
    PlacementAnnotations.warnOfUnknown(pod.annotations(), warnings);
    ResultAnnotations.servedBy(others).write(pod, patch);
    return admitted(patch, warnings);
  }

  /** Leaves the pod's number, but keeps it off nodes where that would count whole GPUs. */
  private Mutation leaveReplicas(PodView pod, MutationRules.Cluster cluster) {
    if (!requestsOurResource(pod)) {
      return leaveAlone(pod, List.of());
    }
    var patch = new JsonPatch();
    var affinity = new NodeAffinityPatch(pod.spec(), pod.spec());
    ServedBy.DEVICE_PLUGIN.require(pod, cluster, rules, affinity);
    Optional<Problem> large = affinity.write(patch);
    if (large.isPresent()) {
      return denied(List.of(large.get()));
    }
    var warnings = new ArrayList<String>();
    CandidateNodes.of(pod, GpuRequests.NONE, cluster.nodes(), rules)
        .shmWarning(pod, GpuRequests.NONE, resource())
        .ifPresent(warnings::add);
    ServedBy.DEVICE_PLUGIN.warning(pod, cluster.nodes()).ifPresent(warnings::add);
    ResultAnnotations.NONE.write(pod, patch);
    return admitted(patch, warnings);
  }

  /** Leaves the pod alone, but removes Tranche's result annotations, which other parts trust. */
  private static Mutation leaveAlone(PodView pod, List<String> warnings) {
    var patch = new JsonPatch();
    ResultAnnotations.NONE.write(pod, patch);
    return admitted(patch, warnings);
  }

  /**
   * Chooses the kind of nodes. The configured choice is for plain numbers of the first resource, in
   * pods whose scheduler does not count replicas.
   */
  private ServedBy servedBy(PodView pod, MutationRules.Cluster cluster) {
    boolean plain =
        !rules.replicaSchedulers().contains(pod.text("schedulerName"))
            && rules.resources().stream().skip(1).noneMatch(pod::requests);
    return ServedBy.of(pod, cluster, rules, plain ? rules.plainServedBy() : ServedBy.DEVICE_PLUGIN);
  }

  /** Whether a plain number of the resource counts GPUs. */
  private boolean countsGpus(PodView pod, MutationRules.Cluster cluster) {
    boolean windows = pod.spec().path("os").path("name").asText("").equals("windows");
    return rules.plainRequests() != MutationRules.PlainRequests.REPLICAS
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

  /**
   * Writes the node affinity, the scheduler and the RuntimeClass.
   *
   * @param problems receives one if the affinity has become too large
   */
  private void writePodFields(
      PodView original,
      PodView pod,
      MutationRules.Cluster cluster,
      Consumer<NodeAffinityPatch> required,
      JsonPatch patch,
      List<Problem> problems) {
    var affinity = new NodeAffinityPatch(original.spec(), pod.spec());
    CandidateNodes.requireModel(pod, cluster.nodes(), affinity);
    CandidateNodes.requireNoMps(pod, affinity);
    ServedBy.DEVICE_PLUGIN.require(pod, cluster, rules, affinity);
    required.accept(affinity);
    affinity.write(patch).ifPresent(problems::add);
    String scheduler = rules.schedulerName();
    if (!scheduler.isEmpty() && !pod.text("schedulerName").equals(scheduler)) {
      patch.add(scheduler, "spec", "schedulerName");
    }
    if (cluster.runtimeClassExists()
        && !rules.runtimeClass().isEmpty()
        && pod.text("runtimeClassName").isEmpty()) {
      patch.add(rules.runtimeClass(), "spec", "runtimeClassName");
    }
  }
}
