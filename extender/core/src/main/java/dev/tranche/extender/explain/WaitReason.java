package dev.tranche.extender.explain;

import dev.tranche.extender.placement.Reason;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Why a pod waits, in one word for all surfaces. Those of a {@link Reason}'s name are a node's
 * refusal by the extender.
 */
public enum WaitReason {
  GATED(Events.POD_WAITS, "scheduling gates of the pods are not removed yet"),
  NOT_FILTERED(Events.POD_WAITS, "kube-scheduler has not tried the pods yet"),
  NOT_BOUND_YET(Events.POD_WAITS, "a node fits; kube-scheduler has not bound the pods yet"),
  PREEMPTING(Events.POD_WAITS, "pods are being evicted to make room"),
  NODES_EXCLUDED(Events.NO_NODE, "the pods exclude the nodes whose GPUs would fit"),
  PINNED_TO(Events.NO_NODE, "the pods' amount of memory was sized for GPUs that are taken"),
  PORT_OR_CPU(Events.NO_NODE, "GPUs would fit, but their nodes lack another resource"),
  NO_NODE(Events.NO_GPU, "no node reports GPUs of the resource that the pods request"),
  NO_SUCH_MODEL(Events.NO_GPU, "no GPU is of a model that the pods ask for"),
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
  static final class Events {
    static final String NO_GPU = "NoGpuFits";
    static final String NO_NODE = "NoNodeFits";
    static final String POD_WAITS = "PodWaits";

    private Events() {}
  }

  private final String event;
  private final String sentence;
  private final String text;

  WaitReason(Reason refusal) {
    this(Events.NO_GPU, refusal.sentence());
  }

  WaitReason(String event, String sentence) {
    this.event = event;
    this.sentence = sentence;
    this.text =
        Stream.of(name().split("_"))
            .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
            .collect(Collectors.joining());
  }

  /** Returns the reason that a node's refusal is. */
  static WaitReason of(Reason refusal) {
    return valueOf(refusal.name());
  }

  /** Returns the reason of the event about such a pod. */
  public String event() {
    return event;
  }

  /** Returns whether the GPUs are what is missing. */
  public boolean isOfGpus() {
    return event.equals(Events.NO_GPU);
  }

  /** Returns a sentence that is the same for all pods that wait for this reason. */
  public String sentence() {
    return sentence;
  }

  /** Returns the name that the API and people see: {@code TooFewGpus}. */
  @Override
  public String toString() {
    return text;
  }
}
