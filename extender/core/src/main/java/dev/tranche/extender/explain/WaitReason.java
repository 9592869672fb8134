package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.CamelCase;
import dev.tranche.extender.placement.Reason;

/**
 * Why a pod waits, in one word for all surfaces. Those of a {@link Reason}'s name are a node's
 * refusal by the extender.
 */
public enum WaitReason {
  GATED(EventReason.POD_WAITS, "scheduling gates of the pods are not removed yet"),
  NOT_FILTERED(EventReason.POD_WAITS, "kube-scheduler has not tried the pods yet"),
  NOT_BOUND_YET(EventReason.POD_WAITS, "a node fits; kube-scheduler has not bound the pods yet"),
  PREEMPTING(EventReason.POD_WAITS, "pods are being evicted to make room"),
  NODES_EXCLUDED(EventReason.NO_NODE, "the pods exclude the nodes whose GPUs would fit"),
  PINNED_TO(
      EventReason.NO_NODE, "the pods' shares were sized for other GPUs than those that would fit"),
  PORT_OR_CPU(EventReason.NO_NODE, "GPUs would fit, but their nodes lack another resource"),
  GANG(
      EventReason.NO_GPU,
      "the pods' groups start only as a whole, and some of their pods do not fit"),
  NO_NODE(EventReason.NO_GPU, "no node reports GPUs of the resource that the pods request"),
  NO_SUCH_MODEL(EventReason.NO_GPU, "no GPU is of a model that the pods request"),
  FAILED(Reason.FAILED),
  NO_REPORT(Reason.NO_REPORT),
  NOT_SERVING(Reason.NOT_SERVING),
  NOT_ACKNOWLEDGING(Reason.NOT_ACKNOWLEDGING),
  NO_GPU(Reason.NO_GPU),
  OTHER_REPLICAS(Reason.OTHER_REPLICAS),
  NOT_ALLOWED(Reason.NOT_ALLOWED),
  UNFIT(Reason.UNFIT),
  FULL(Reason.FULL),
  FRAGMENTED(Reason.FRAGMENTED),
  TOO_FEW_GPUS(Reason.TOO_FEW_GPUS),
  CLIENTS(Reason.CLIENTS),
  MEMORY(Reason.MEMORY),
  SERVED_BY_PLUGIN(Reason.SERVED_BY_PLUGIN),
  UNDECIDED(Reason.UNDECIDED);

  /** The reasons of the events that tell a pod's owner why it waits. */
  enum EventReason {
    NO_GPU("NoGpuFits"),
    NO_NODE("NoNodeFits"),
    POD_WAITS("PodWaits");

    private final String text;

    EventReason(String text) {
      this.text = text;
    }
  }

  private final EventReason event;

  /** The same for all pods that wait for this reason. */
  public final String sentence;

  private final String text;

  WaitReason(Reason refusal) {
    this(EventReason.NO_GPU, refusal.sentence);
  }

  WaitReason(EventReason event, String sentence) {
    this.event = event;
    this.sentence = sentence;
    this.text = CamelCase.of(this);
  }

  /** Returns the reason that a node's refusal is. */
  static WaitReason of(Reason refusal) {
    return valueOf(refusal.name());
  }

  /** Returns the reason of the event about such a pod. */
  public String event() {
    return event.text;
  }

  /** Returns whether the GPUs are what is missing. */
  public boolean isOfGpus() {
    return event == EventReason.NO_GPU;
  }

  /** Returns whether the pod excludes the nodes whose GPUs would fit. */
  boolean isOfNodes() {
    return this == NODES_EXCLUDED || this == PINNED_TO;
  }

  /** Returns whether this is a usual step on the way to a node, and no fault. */
  public boolean isUsual() {
    return this == NOT_FILTERED || this == NOT_BOUND_YET || this == PREEMPTING;
  }

  /** Returns the name that the API and people see: {@code TooFewGpus}. */
  @Override
  public String toString() {
    return text;
  }
}
