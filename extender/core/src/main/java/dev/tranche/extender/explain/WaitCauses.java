package dev.tranche.extender.explain;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.AllowList;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.ledger.SchedulerVerdict.Blocker;
import dev.tranche.extender.ledger.SchedulerVerdict.Kind;
import dev.tranche.extender.ledger.SchedulerVerdict.State;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.selection.PodSelection.Pin;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds out why a pod waits. This is the only place that does: events, the API, the page and {@code
 * kubectl tranche} show what it returns.
 *
 * <p>Two sources are combined. kube-scheduler's condition says what it refuses nodes for, but not
 * which ones, and it never asks the extender about nodes that it refuses itself. The survey says
 * which nodes' GPUs would fit, but not whether the pod may use these nodes.
 */
public record WaitCauses(PodFacts pod, Survey survey, Optional<Set<Reason>> decided) {
  private static final int MODELS_SHOWN_MAX = 5;
  private static final int SPLITS_SHOWN_MAX = 5;

  /** Refusals that end when other pods or processes leave a GPU. */
  private static final Set<Reason> SHORTAGE =
      EnumSet.of(
          Reason.UNFIT,
          Reason.FULL,
          Reason.FRAGMENTED,
          Reason.TOO_FEW_GPUS,
          Reason.CLIENTS,
          Reason.MEMORY);

  /**
   * Returns why a pod waits.
   *
   * @param survey of all nodes, also of those that the pod itself excludes
   * @param decided what filter refused nodes for, if kube-scheduler has called it for the pod; no
   *     reason if some node fitted
   */
  public static WaitCause of(PodFacts pod, Survey survey, Optional<Set<Reason>> decided) {
    return new WaitCauses(pod, survey, decided).cause();
  }

  private SchedulerVerdict verdict() {
    return pod.scheduler();
  }

  /**
   * Returns why a pod waits whose gang cannot be placed whole.
   *
   * @param lacking what the gang lacks, a clause
   */
  static WaitCause gang(String lacking) {
    return new WaitCause(
        WaitReason.GANG,
        lacking,
        "Wait until other pods end, request smaller shares, or add a GPU node: a pod group starts"
            + " only as a whole.");
  }

  /**
   * Returns why a pod waits that may use only the nodes that admission sized its share for.
   *
   * @param pin what it requires of these nodes
   */
  static WaitCause pinned(WaitCause alone, Pin pin) {
    if (!pin.contradicts().isEmpty()) {
      return new WaitCause(
          WaitReason.PINNED_TO,
          "admission sized its share for nodes with %s, and its %s excludes all of these"
              .formatted(pin.requires(), pin.contradicts()),
          "Recreate the pod with that choice of nodes from the start, and its share is sized for"
              + " them; or choose nodes among the former.");
    }
    return alone.reason() == WaitReason.PINNED_TO && !pin.requires().isEmpty()
        ? new WaitCause(
            WaitReason.PINNED_TO,
            alone.message() + "; it may use only nodes with " + pin.requires(),
            alone.whatToDo())
        : alone;
  }

  /**
   * Returns why a pod waits that filter has just refused. What kube-scheduler wrote before no
   * longer counts.
   *
   * @param refused all nodes that kube-scheduler has asked about
   */
  public static WaitCause refused(PodFacts pod, List<NodeFit> refused) {
    return of(pod.with(SchedulerVerdict.NONE), Survey.of(refused), Optional.of(Set.of()));
  }

  /**
   * Returns the cause with the pod's own fields first: if they exclude all nodes with GPUs, it does
   * not matter whether these are full.
   *
   * @param excluded which fields exclude them all; empty if some node is left
   */
  public static WaitCause ownFieldsFirst(WaitCause alone, String excluded) {
    return excluded.isEmpty() || !isShortage(alone) ? alone : allExcluded(excluded);
  }

  static boolean isShortage(WaitCause cause) {
    return SHORTAGE.stream().map(WaitReason::of).anyMatch(reason -> reason == cause.reason());
  }

  /**
   * Returns why a pod would wait that may use no node with GPUs.
   *
   * @param because which of the pod's fields exclude them
   */
  public static WaitCause allExcluded(String because) {
    return new WaitCause(
        WaitReason.NODES_EXCLUDED,
        "the pod may use no node that has GPUs, because of " + because,
        "Correct these fields of the pod.");
  }

  private WaitCause cause() {
    if (verdict().state() == State.GATED) {
      return new WaitCause(
          WaitReason.GATED,
          "its scheduling gates are not removed yet",
          "Whoever set spec.schedulingGates removes them, such as Kueue once it admits the"
              + " workload.");
    }
    String nominated = pod.preemption().nominatedNode();
    if (nominated != null) {
      return nominated(nominated);
    }
    if (!survey.known()) {
      return untilSurveyed();
    }
    if (survey.fits()) {
      return fitting();
    }
    if (verdict().state() == State.NOT_TRIED && decided.isEmpty()) {
      // Full GPUs are no reason for a pod that no scheduler looks at.
      return notTried();
    }
    return survey.nearest(verdict().refusals()).map(this::refusal).orElseGet(this::noNode);
  }

  /**
   * kube-scheduler evicts pods on a node for this one, or has done so. From Kubernetes 1.35 on it
   * may also be about to bind the pod to that node, while its volume is made.
   */
  private WaitCause nominated(String node) {
    if (verdict().has(Kind.HOST) && !verdict().has(Kind.GPUS)) {
      return host(
          "pods were evicted for it on node %s, which still lacks %s"
              .formatted(node, blockers(Kind.HOST)));
    }
    boolean fitsNow =
        survey.known() ? survey.fitsOn(node) : decided.filter(Set::isEmpty).isPresent();
    if (fitsNow) {
      return new WaitCause(
          WaitReason.NOT_BOUND_YET,
          "kube-scheduler has chosen node %s, and has not bound the pod yet".formatted(node),
          "Wait: kube-scheduler tries a pod again after five minutes at the latest, and a volume"
              + " can take minutes until it is made or attached. kubectl describe shows the state"
              + " of the pod's PersistentVolumeClaims.");
    }
    return new WaitCause(
        WaitReason.PREEMPTING,
        "pods are being evicted for it on node " + node,
        "Wait until they have ended: their terminationGracePeriodSeconds says how long that"
            + " takes.");
  }

  /** Returns what the condition alone says. */
  private WaitCause untilSurveyed() {
    if (verdict().has(Kind.GPUS)) {
      Reason last = verdict().refusals().stream().max(Reason::compareTo).orElse(Reason.FULL);
      return shortage(last);
    }
    if (verdict().has(Kind.HOST)) {
      return host("nodes lack " + blockers(Kind.HOST));
    }
    return verdict().has(Kind.NODE) ? excluded("") : notTried();
  }

  /** Some node's GPUs fit, so something else keeps the pod from that node. */
  private WaitCause fitting() {
    if (verdict().state() == State.NOT_TRIED) {
      return untilCondition();
    }
    boolean node = verdict().has(Kind.NODE);
    boolean host = verdict().has(Kind.HOST);
    if (node && pinned()) {
      return pinnedTo();
    }
    Optional<Reason> shortage = survey.among(verdict().refusals()).filter(SHORTAGE::contains);
    if ((node || host) && shortage.isPresent() && !excludedEverywhere()) {
      // The fitting node is one that the pod may not use; one that it may use has too little.
      WaitCause alone = shortage(shortage.get());
      return node
          ? new WaitCause(
              alone.reason(),
              "%s; GPUs of node %s would fit, but kube-scheduler excludes nodes because of %s"
                  .formatted(alone.message(), survey.fittingNode(), blockers(Kind.NODE)),
              alone.whatToDo())
          : alone;
    }
    if (host) {
      return host(
          "GPUs of node %s would fit, but nodes lack %s"
              .formatted(survey.fittingNode(), blockers(Kind.HOST)));
    }
    return node
        ? excluded("; GPUs of node %s would fit".formatted(survey.fittingNode()))
        : notBoundYet(survey.fittingNode());
  }

  /** kube-scheduler's condition is not there, or has not arrived yet. */
  private WaitCause untilCondition() {
    if (decided.isEmpty()) {
      return notTried();
    }
    return survey
        .among(decided.get())
        .filter(SHORTAGE::contains)
        .map(this::shortage)
        .orElseGet(() -> notBoundYet(survey.fittingNode()));
  }

  private WaitCause refusal(Reason nearest) {
    if (nearest == Reason.NOT_ALLOWED) {
      return notAllowed();
    }
    if (nearest == Reason.OTHER_REPLICAS) {
      return otherReplicas();
    }
    if (survey.gpuNodes() > 0 && !survey.largeEnough() && SHORTAGE.contains(nearest)) {
      return new WaitCause(
          WaitReason.TOO_FEW_GPUS,
          needs() + ", and no node has so many GPUs",
          "Request fewer GPUs, or add a node that has as many.");
    }
    boolean onlyExcluded =
        verdict().has(Kind.NODE) && !verdict().has(Kind.HOST) && !verdict().has(Kind.GPUS);
    return (onlyExcluded || excludedEverywhere()) && SHORTAGE.contains(nearest)
        ? excluded("; their GPUs are taken as well")
        : shortage(nearest);
  }

  /**
   * Whether volumes, other pods and the like exclude as many nodes as have GPUs. Then a lack of
   * GPUs is that of nodes without any, which kube-scheduler counts, too.
   */
  private boolean excludedEverywhere() {
    int gpuNodes = survey.gpuNodes();
    return gpuNodes > 0 && verdict().count(SchedulerVerdict::isUnknown) >= gpuNodes;
  }

  private WaitCause shortage(Reason reason) {
    String needs = needs();
    String message =
        switch (reason) {
          case FULL -> needs + ", and no GPU that it may use has so much free";
          case FRAGMENTED -> needs + "; a node has that much free, but not on one GPU";
          case TOO_FEW_GPUS -> needs + "; no node has enough GPUs with that much free on each";
          case MEMORY ->
              needs + "; so much is not granted, but processes there use too much of the memory";
          case CLIENTS -> needs + "; the GPUs with so much free have no free MPS client slots";
          case UNFIT -> needs + "; the GPUs that it may use are unhealthy or cordoned";
          case NO_GPU -> "no node has GPUs of the resource %s".formatted(pod.resource());
          case FAILED,
              NO_REPORT,
              NOT_SERVING,
              NOT_ACKNOWLEDGING,
              OTHER_REPLICAS,
              NOT_ALLOWED,
              SERVED_BY_PLUGIN,
              UNDECIDED ->
              reason.sentence;
        };
    String advice = shortageAdvice(reason);
    if (pinned()) {
      advice +=
          " Its %s was sized for the GPUs that its node affinity names; for others, set %s and recreate the pod."
              .formatted(Names.GPU_MEMORY, Names.GPU_MODEL);
    }
    if (verdict().has(Kind.HOST)) {
      message += "; nodes also lack " + blockers(Kind.HOST);
      advice += " Also request less of what the nodes lack.";
    }
    return new WaitCause(WaitReason.of(reason), message, advice);
  }

  private static String shortageAdvice(Reason reason) {
    return switch (reason) {
      case FULL ->
          "Wait until a pod on these GPUs ends, request a smaller share, or add a GPU node. If this"
              + " is a rolling update, set maxSurge: 0 and maxUnavailable: 1: old pods end first.";
      case FRAGMENTED ->
          "Wait until one GPU has enough free, or request a smaller share. A higher priority does"
              + " not help: kube-scheduler evicts no pod for it.";
      case TOO_FEW_GPUS ->
          "Request fewer GPUs (tranche.dev/gpu-count) or a smaller share on each, or wait. A higher"
              + " priority does not help: kube-scheduler evicts no pod for it.";
      case MEMORY ->
          "Wait until the processes need less memory, or end those that use more than they were"
              + " granted: kubectl tranche top pods shows them, and top gpus -o wide what no pod"
              + " uses.";
      case CLIENTS -> "Wait until a pod there ends: a GPU serves a limited number of MPS clients.";
      case UNFIT ->
          "See the events of the GPU nodes, and their annotation " + Names.CORDON_GPUS + ".";
      case NO_REPORT, NOT_SERVING, NOT_ACKNOWLEDGING, FAILED ->
          "Nothing is wrong with the pod. Your administrator looks at the node's plugin and at the"
              + " extender's log.";
      case NO_GPU -> "Add a node with such GPUs, or request a resource that a node has.";
      case UNDECIDED -> "Request shares of fewer different sizes.";
      case OTHER_REPLICAS, NOT_ALLOWED, SERVED_BY_PLUGIN ->
          "The pod's request fits none of the cluster's GPUs: change it.";
    };
  }

  private String needs() {
    return "it needs " + survey.demand().map(ShareText::needs).orElseGet(() -> share("GPUs"));
  }

  private WaitCause notAllowed() {
    @Nullable String asked = pod.annotations().get(Names.GPU_MODEL);
    AllowList models = AllowList.parse(asked);
    if (asked != null && survey.models().stream().noneMatch(models::admitsModel)) {
      return new WaitCause(
          WaitReason.NO_SUCH_MODEL,
          "it requests the GPU model %s; the cluster has %s"
              .formatted(
                  Printable.name(asked),
                  Printable.list(survey.models(), MODELS_SHOWN_MAX, Printable::name)),
          "Set %s to a model that the cluster has, or remove it.".formatted(Names.GPU_MODEL));
    }
    if (pod.annotations().containsKey(Names.GPU_UUID)) {
      return new WaitCause(
          WaitReason.NOT_ALLOWED,
          "it requests GPUs by uuid, and no node reports one of them that may serve it",
          "Correct %s: kubectl tranche top gpus -o wide lists the uuids."
              .formatted(Names.GPU_UUID));
    }
    return survey.among(Set.of(Reason.OTHER_REPLICAS)).isPresent()
        ? otherReplicas()
        : shortage(Reason.NOT_ALLOWED);
  }

  private WaitCause otherReplicas() {
    String now =
        survey.splits().stream()
            .limit(SPLITS_SHOWN_MAX)
            .map(split -> ShareText.fraction(1, split))
            .collect(joining(", "));
    String then =
        pod.stampedReplicas().isPresent()
            ? ShareText.fraction(1, pod.stampedReplicas().getAsInt())
            : "another part";
    return new WaitCause(
        WaitReason.OTHER_REPLICAS,
        "its share is counted in steps of %s of a GPU, and GPUs are now shared in steps of %s"
            .formatted(then, now),
        "Delete the pod: its owner recreates it, with a share in the new steps.");
  }

  /** Whether admission has chosen the GPUs by the amount of memory. */
  private boolean pinned() {
    return verdict().has(Blocker.AFFINITY)
        && pod.annotations().keySet().stream().anyMatch(Names::requestsMemory);
  }

  private WaitCause pinnedTo() {
    return new WaitCause(
        WaitReason.PINNED_TO,
        "its %s was turned into %s, which counts only for the GPUs that its node affinity names;"
                .formatted(Names.GPU_MEMORY, share("a share"))
            + " GPUs of node %s would fit now".formatted(survey.fittingNode()),
        "Set %s: %s and recreate the pod; or recreate it as it is, and its memory is sized for GPUs with enough free then."
            .formatted(Names.GPU_MODEL, Printable.name(survey.fittingModel())));
  }

  /**
   * Returns the share that admission granted.
   *
   * @param unknown the words if the pod does not say in which replicas it is counted
   */
  private String share(String unknown) {
    return pod.stampedReplicas().isPresent()
        ? ShareText.needs(pod.demand(pod.stampedReplicas().getAsInt()))
        : unknown;
  }

  private WaitCause excluded(String what) {
    return new WaitCause(
        WaitReason.NODES_EXCLUDED,
        "kube-scheduler excludes nodes because of " + blockers(Kind.NODE) + what,
        excludedAdvice());
  }

  private String excludedAdvice() {
    var advice = new StringBuilder();
    for (Blocker blocker : verdict().nodes().keySet()) {
      String each =
          switch (blocker) {
            case AFFINITY ->
                "Correct the pod's nodeSelector or node affinity. If GPUs are split otherwise since"
                    + " its admission, recreate the pod.";
            case TAINTS -> "Add a toleration for the nodes' taints.";
            case CORDONED -> "Uncordon the node.";
            case VOLUMES -> "See the pod's PersistentVolumeClaims.";
            case OTHER_PODS -> "Relax the pod's affinity to pods or its topology spread.";
            case OTHER -> "kube-scheduler's message says more.";
            default -> "";
          };
      if (!each.isEmpty()) {
        advice.append(advice.isEmpty() ? "" : " ").append(each);
      }
    }
    return advice.toString();
  }

  private WaitCause host(String message) {
    return new WaitCause(
        WaitReason.PORT_OR_CPU,
        message,
        verdict().has(Blocker.PORTS)
            ? "Use another hostPort, or wait until the pod that has it ends."
            : "Request less of it, or add a node. GPUs are not what is missing.");
  }

  /** Returns the blockers of one kind, as words. */
  private String blockers(Kind kind) {
    return verdict().nodes().keySet().stream()
        .filter(blocker -> blocker.kind == kind)
        .map(blocker -> blocker.words)
        .collect(joining(" and "));
  }

  private WaitCause notTried() {
    return new WaitCause(
        WaitReason.NOT_FILTERED,
        "kube-scheduler has not tried the pod yet",
        "Wait. If it lasts, check that the pod's schedulerName is that of a running scheduler.");
  }

  /** Returns why a pod waits that fits a node, as filter has just found. */
  static WaitCause notBoundYet(String node) {
    return new WaitCause(
        WaitReason.NOT_BOUND_YET,
        "GPUs of node %s fit; kube-scheduler has not bound the pod yet".formatted(node),
        "Wait: kube-scheduler tries the pod again within minutes.");
  }

  private WaitCause noNode() {
    return new WaitCause(
        WaitReason.NO_NODE,
        "no node reports GPUs of the resource " + pod.resource(),
        "Add a GPU node, or see why the node plugins do not report.");
  }
}
