package dev.tranche.webhook.pod;

import dev.tranche.api.Printable;
import java.util.stream.Stream;

/** The warnings to the owner of a pod that is admitted. docs/errors.md lists them all. */
public enum Warning {
  ROUNDED_UP(
      "container %s asks for %s of a GPU and is granted %s: GPUs are split into %d replicas, and it is rounded up"),
  MEMORY_ROUNDED_UP(
      "container %s asks for %s of GPU memory and is granted %s of a GPU, %dMi: GPUs are split into %d replicas, and it is rounded up"),
  NODES_DISAGREE(
      "nodes that this pod can land on cut a GPU into %s replicas; it is kept on those with %d. Narrow its nodeSelector to choose"),
  MEMORIES_DISAGREE(
      "nodes that this pod can land on have GPUs of %s MiB, on which %s is not the same share; it is kept on those of %s MiB. Narrow its nodeSelector to choose"),
  HOST_PID_OFF_MPS(
      "spec.hostPID is true, so this pod is kept off nodes that share GPUs by MPS, where it would reach the MPS server and all its other clients"),
  NO_NODE(
      "no GPU node of this cluster satisfies this pod's nodeSelector, required node affinity and tranche.dev/gpu-model; it waits until one does"),
  NO_EFFECT("%s has no effect: this pod asks for no GPU. Ask for a share, for example %s: \"0.3\""),
  UNKNOWN("annotation %s is unknown to Tranche and has no effect"),
  FOREIGN_SCHEDULER(
      "this pod's schedulerName is \"%s\", so Tranche leaves it alone, and its %s has no effect"),
  WHOLE_GPUS(
      "container %s requests %s: %d and gets %d whole GPUs, counted as %d replicas of 1/%d GPU. For a part of a GPU say %s"),
  PROXY_SKIPPED(
      "container %s gets this pod's share of a GPU: container %s before it is added by %s and uses none. For another say %s"),
  CONTAINER_CHOSEN(
      "container %s gets this pod's share of a GPU: it is the first of %d containers, and no annotation names one. For another say %s"),
  CLAIMS(
      "container %s has a resource claim beside its share of a GPU; where a DRA driver gives out the same GPUs, the two do not know of each other"),
  OTHERS_WORD("%s is %s's word; Tranche reads it as %s: \"%s\""),
  OTHERS_WORD_IGNORED("%s: \"%s\" is %s's word and has no effect with Tranche"),
  OTHERS_LEFT("this pod's label %s is \"%s\", so Tranche does not read its %s");

  private final String template;

  Warning(String template) {
    this.template = template;
  }

  /** Formats the message. Makes all text values printable, in case the caller has not done so. */
  public String of(Object... values) {
    return template.formatted(
        Stream.of(values).map(v -> v instanceof String s ? Printable.message(s) : v).toArray());
  }

  public String template() {
    return template;
  }
}
