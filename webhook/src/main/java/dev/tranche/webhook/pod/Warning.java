package dev.tranche.webhook.pod;

import dev.tranche.api.Printable;

/** The warnings to the owner of a pod that is admitted. docs/errors.md lists them all. */
public enum Warning {
  ROUNDED_UP("container %s: %s rounded up to %s, because GPUs are split into %d replicas%s"),
  MEMORY_ROUNDED_UP(
      "container %s: %s of GPU memory rounded up to %s of a GPU, %dMi, because GPUs are split into"
          + " %d replicas"),
  NODES_DISAGREE(
      "eligible nodes split GPUs into %s replicas; the pod is restricted to those with %d. To"
          + " choose others, set a nodeSelector"),
  MEMORIES_DISAGREE(
      "eligible nodes have GPUs of %s MiB, on which %s is not the same share; the pod is restricted"
          + " to those of %s MiB. To choose others, set a nodeSelector"),
  HOST_PID_OFF_MPS(
      "spec.hostPID is true, so this pod cannot use nodes that share GPUs by MPS, where it could"
          + " access the MPS server and all its other clients"),
  NO_NODE(
      "no GPU node of this cluster satisfies this pod's nodeSelector, required node affinity and"
          + " tranche.dev/gpu-model; the pod is pending until one does. Where GPUs are shared,"
          + " nvidia.com/gpu.product ends with -SHARED; tranche.dev/gpu-model takes both"),
  TOO_MANY_GPUS(
      "this pod requests %d GPUs, and no eligible node has more than %d; the pod is pending until"
          + " one does"),
  FOREIGN_NODES(
      "some eligible nodes offer %s without Tranche; the pod is converted for Tranche's nodes. To"
          + " use the others, choose them by a nodeSelector, or set %s: \"%s\""),
  OPT_OUT_NO_EFFECT(
      "%s has no effect: this pod requests a share of a GPU, which only Tranche's nodes have"),
  NO_EFFECT("%s has no effect: this pod requests no GPU. Request a share, for example %s: \"0.3\""),
  LIMIT_NO_EFFECT("%s has no effect on container %s: %s"),
  LIMIT_SMALL(
      "container %s gets a memory limit of at most %dMi, and a CUDA context takes about 450Mi of"
          + " it. %s"),
  UNKNOWN("annotation %s is unknown to Tranche and has no effect; after %s there is one of %s"),
  FOREIGN_SCHEDULER(
      "this pod's schedulerName is \"%s\", so Tranche does not change this pod, and its %s has no"
          + " effect"),
  WHOLE_GPUS(
      "container %s requests %s: %d and gets %3$d whole GPUs, counted as %d replicas of 1/%d GPU."
          + " For a share of a GPU, set %s"),
  NUMBER_TAKEN_BACK(
      "container %s requests %s: %d, which Tranche had written for %d whole GPUs. Numbers are not"
          + " converted here, so it becomes %4$d again. For whole GPUs of Tranche's nodes set %s:"
          + " \"%4$d\""),
  LIMIT_RANGE(
      "container %s has its number of %s from a LimitRange; if it needs no GPU, have the LimitRange"
          + " set its default and defaultRequest to 0"),
  CONTAINER_SKIPPED(
      "container %s gets this pod's share of a GPU: container %s before it %s. To choose another"
          + " container, set %s"),
  CONTAINER_CHOSEN(
      "container %s gets this pod's share of a GPU: it is the first of %d containers, and no"
          + " annotation names one. To choose another, set %s"),
  DEFAULT_CONTAINER_CHOSEN(
      "container %s gets this pod's share of a GPU: %s names it, which a service mesh may have"
          + " written. To choose another, set %s"),
  CLAIMS(
      "container %s has a resource claim beside its share of a GPU; if a DRA driver allocates the"
          + " same GPUs, neither knows what the other has allocated"),
  SHM_HIDES_MPS(
      "container %s mounts a volume at /dev/shm, which hides that of MPS: on nodes that share GPUs"
          + " by MPS, CUDA then finds no server. Remove the mount, since /dev/shm is large there,"
          + " or set a nodeSelector for other nodes"),
  KSERVE_COMPONENT(
      "this pod is the %s of InferenceService %s and gets a share of a GPU, too: KServe copies the"
          + " annotations of an InferenceService to all of its pods. For the model alone, move the"
          + " annotation to spec.predictor.annotations"),
  COMPAT_TRANSLATED("%s (%s) is translated to %s: \"%s\""),
  COMPAT_IGNORED("%s: \"%s\" (%s) has no effect with Tranche");

  private final String template;

  Warning(String template) {
    this.template = template;
  }

  public String of(Object... values) {
    return Printable.sentence(template, values);
  }

  public String template() {
    return template;
  }
}
