package dev.tranche.webhook.pod;

import dev.tranche.api.Printable;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The reasons for which a pod is denied. Each message states the value, what is wrong, and what is
 * allowed or to be done. docs/errors.md lists them all.
 */
public enum Denial {
  FRACTION_MALFORMED("%s: %s; for example %1$s: \"0.3\"."),
  MEMORY_MALFORMED(
      "%s: \"%s\" is not an amount of memory above 0; allowed is a Kubernetes quantity, for example %1$s: \"4Gi\"."),
  MEMORY_TINY(
      "%s: \"%s\" is less than 1Mi of GPU memory, which cannot be meant; write the unit, for example %1$s: \"4Gi\"."),
  MEMORY_UNKNOWN(
      "%s: no node that this pod can land on says how much memory its GPUs have (label %s), so \"%s\" cannot be turned into a share; ask for a share, for example tranche.dev/gpu-fraction: \"0.3\", or have your administrator set webhook.defaultGpuMemory."),
  MEMORY_TOO_MUCH(
      "this pod asks for %s of one GPU's memory, and the largest GPU that it can land on gives %dMi; ask for at most that, or for a part on each of several GPUs with tranche.dev/gpu-count."),
  COUNT_MALFORMED(
      "%s: \"%s\" is not a number of GPUs; allowed are 1 to %d, for example %1$s: \"2\"."),
  COUNT_OF_WHOLE(
      "%s: \"%d\" contradicts the fraction \"%s\": a count goes with a share of one GPU, at most 1. For %2$d whole GPUs say tranche.dev/gpu-fraction: \"%2$d\" alone."),
  NO_SHARE("%s: \"%s\" stands without a share; add one, for example %s: \"0.5\"."),
  NO_SUCH_CONTAINER(
      "%s names the container \"%s\", which this pod does not have; its containers are %s."),
  TWO_ASKS("%s and %s both speak of container \"%s\"; keep one of them."),
  PLACEMENT_UNKNOWN("%s: \"%s\" is not a placement; allowed are load, packed and spread."),
  LIST_MALFORMED(
      "%s: \"%s\" is no entry of a comma-separated list, in which a leading ! denies; for example %s."),
  LIST_TOO_LONG(
      "%s: \"%s\" is too long a list; allowed are %d entries and %d characters. Label the nodes instead, and say nodeSelector."),
  OWN_REQUEST(
      "container \"%s\" requests %s: %d, and its %s \"%s\" comes to %d replicas of 1/%d GPU; remove the request, and it will be written for you."),
  REQUEST_AND_LIMIT(
      "container \"%s\" has a request of %s: %d and a limit of %d, which Kubernetes wants equal; remove both, and they will be written for you."),
  OTHER_RESOURCE(
      "container \"%s\" asks for a share of a GPU and requests %s besides; remove the request, or the share."),
  PRIVILEGED(
      "container \"%s\" is privileged, so it would see every GPU of its node whatever its fraction; remove securityContext.privileged, or the fraction."),
  NODE_NAME(
      "spec.nodeName is \"%s\", which goes past the scheduler, so no GPU could be chosen; for that node say nodeSelector: {kubernetes.io/hostname: %1$s}."),
  POD_RESOURCES(
      "spec.resources requests %s for the pod as a whole, and GPUs are given to containers; remove it there, and ask with tranche.dev/gpu-fraction."),
  HOST_PID_WITH_MPS(
      "spec.hostPID is true, and all nodes that this pod can land on share GPUs by MPS, as node %s does; there it would reach the MPS server and all its other clients. Remove hostPID, or let it land on other nodes."),
  WINDOWS(
      "spec.os.name is \"windows\", and Tranche shares the GPUs of Linux nodes only; remove the share, or say spec.os.name: linux."),
  INIT_ABOVE_ONE_GPU(
      "an init container asks for GPU, so all containers of this pod share one GPU of %d replicas, but they need %s; ask for at most 1 in all, leave the init container without a GPU, or let it ask for as many whole GPUs as the first other container that asks for any."),
  TOO_MANY_GPUS(
      "this pod asks for %s GPUs, and no node that it can land on has more than %d; allowed here is up to %s: \"%2$d\"."),
  PLAIN_NOT_WHOLE(
      "container \"%s\" requests %s: %s, which is not a whole number; for a part of a GPU remove it and say tranche.dev/gpu-fraction, for example tranche.dev/gpu-fraction: \"0.3\"."),
  OTHERS_WORD_TWICE("%s (%s's word) says \"%s\", and %s says \"%s\"; keep one of them."),
  OTHERS_MEMORY_MALFORMED(
      "%s: \"%s\" is not a number of MiB above 0; for example %1$s: \"4096\", or in Tranche's words %s: \"4Gi\"."),
  OTHERS_COUNTS_DIFFER(
      "container \"%s\" wants its share on %d GPUs and another container on %d; Tranche gives all containers of a pod the same number, tranche.dev/gpu-count; request the same number in each."),
  OTHERS_VALUE_UNKNOWN("%s: \"%s\" is no value of %s's word; allowed are %s."),
  OTHERS_MIG(
      "%s: \"mig\" (%s's word) wants a MIG device, and Tranche cuts none for a share; request one that a node has, for example limits: {nvidia.com/mig-1g.5gb: 1}, or remove the annotation."),
  ABOVE_ANY_NODE("this pod requests %s, and no node has more than %s; request less."),
  TOO_LARGE("this pod has %s, which is too large; allowed are at most %s."),
  MORE("There are more problems; these are the first.");

  /** Maximum number of problems reported per pod, since its owner reads only a few sentences. */
  public static final int PER_POD_MAX = 8;

  private final String template;

  Denial(String template) {
    this.template = template;
  }

  /** Formats the message. Makes all text values printable, in case the caller has not done so. */
  public Problem of(Object... values) {
    return new Problem(
        this,
        template.formatted(
            Stream.of(values)
                .map(v -> v instanceof String s ? Printable.message(s) : v)
                .toArray()));
  }

  /** As metrics spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }

  public String template() {
    return template;
  }
}
