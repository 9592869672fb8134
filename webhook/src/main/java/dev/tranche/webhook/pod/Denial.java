package dev.tranche.webhook.pod;

import dev.tranche.api.Printable;
import java.util.Locale;

/**
 * The reasons for which a pod is denied. Each message states the value, what is wrong, and what is
 * allowed or to be done. docs/errors.md lists them all.
 */
public enum Denial {
  FRACTION_MALFORMED("%s: %s; for example %1$s: \"0.3\"."),
  MEMORY_MALFORMED(
      "%s: \"%s\" is not an amount of memory above 0; allowed is a Kubernetes quantity, for example"
          + " %1$s: \"4Gi\"."),
  MEMORY_TOO_SMALL(
      "%s: \"%s\" is less than 1Mi of GPU memory, so the unit is probably missing; add it, for"
          + " example %1$s: \"4Gi\"."),
  MEMORY_UNKNOWN(
      "%s: no node that this pod's own nodeSelector and node affinity allow reports how much memory"
          + " its GPUs have (label %s), so \"%s\" cannot be converted to a share; allow other"
          + " nodes, request a share, for example tranche.dev/gpu-fraction: \"0.3\", or have your"
          + " administrator set webhook.defaultGpuMemory."),
  MEMORY_TOO_LARGE(
      "this pod requests %s of one GPU's memory, and the largest GPU of an eligible node has %dMi;"
          + " request at most that, or a share of each of several GPUs with"
          + " tranche.dev/gpu-count."),
  LIMIT_MALFORMED(
      "%s: \"%s\" is neither none nor an amount of memory of at least 1Mi; for example %1$s:"
          + " \"2Gi\"."),
  LIMIT_OPT_OUT(
      "%s: \"none\" is not allowed on this cluster (nodePlugin.memoryLimitOptOut); remove it, and"
          + " the share is the limit."),
  LIMIT_ABOVE_GRANT(
      "%s: \"%s\" is above what container \"%s\" is granted, %dMi; only an MPS v3 server takes"
          + " borrowed memory back, and Tranche starts none. Request a larger share, or a limit of"
          + " at most %4$dMi."),
  COUNT_MALFORMED(
      "%s: \"%s\" is not a number of GPUs; allowed are 1 to %d, for example %1$s: \"2\"."),
  COUNT_WITH_WHOLE_GPUS(
      "%s: \"%d\" contradicts the fraction \"%s\": a count needs a share of at most one GPU. For"
          + " %2$d whole GPUs set only tranche.dev/gpu-fraction: \"%2$d\"."),
  MISSING_SHARE("%s: \"%s\" needs a share; add one, for example %s: \"0.5\"."),
  NO_SUCH_CONTAINER(
      "%s names the container \"%s\", which this pod does not have; its containers are %s."),
  DUPLICATE_REQUEST("%s and %s both set the share of container \"%s\"; keep one of them."),
  PLACEMENT_UNKNOWN("%s: \"%s\" is not a placement; allowed are load, packed and spread."),
  PLAIN_REQUESTS_UNKNOWN(
      "%s: \"%s\" is unknown; allowed is %s, which leaves plain requests as they are."),
  LIST_MALFORMED(
      "%s: \"%s\" is not an entry of a comma-separated list, in which a leading ! excludes; for"
          + " example %s."),
  LIST_TOO_LONG(
      "%s: \"%s\" is too long; allowed are %d entries and %d characters. Label the nodes instead,"
          + " and use nodeSelector."),
  OWN_REQUEST(
      "container \"%s\" requests %s: %d, and its %s \"%s\" equals %d replicas of 1/%d GPU; remove"
          + " the request, and Tranche sets it. If a LimitRange wrote it, set its default and"
          + " defaultRequest to 0."),
  REQUEST_OF_MORE_GPUS(
      "container \"%s\" requests %s: %d, and its %s \"%s\" is a share of %s; for this share of each"
          + " of %3$d GPUs set %7$s: \"%3$d\", otherwise remove the request."),
  OTHER_RESOURCE(
      "container \"%s\" requests a share of a GPU and also %s; remove the request, or the share."),
  PRIVILEGED(
      "container \"%s\" is privileged, so it can access every GPU of its node regardless of its"
          + " share; remove securityContext.privileged, or the share."),
  NODE_NAME(
      "spec.nodeName is \"%s\", which bypasses the scheduler, so no GPU can be assigned; to use"
          + " that node, set nodeSelector: {kubernetes.io/hostname: %1$s}."),
  OTHER_SCHEDULER(
      "spec.schedulerName is \"%s\", which places no shares, and this pod has %s beside a number of"
          + " %s; remove schedulerName to get the share, or the annotation to get the number."),
  WINDOWS(
      "spec.os.name is \"windows\", and Tranche shares the GPUs of Linux nodes only; remove the"
          + " share, or set spec.os.name: linux."),
  INIT_ABOVE_ONE_GPU(
      "init container \"%s\" requests a GPU, and the kubelet passes it on to the later containers,"
          + " so all of them share one GPU of %d replicas, but they need %s; remove its request,"
          + " request at most one GPU in total, or have it request as many whole GPUs, two or more,"
          + " as the first other container with GPUs."),
  PLAIN_NOT_WHOLE(
      "container \"%s\" requests %s: %s, which is not a whole number; for a part of a GPU remove it"
          + " and set tranche.dev/gpu-fraction, for example tranche.dev/gpu-fraction: \"0.3\"."),
  CONFLICTING_ANNOTATIONS("%s (%s) is \"%s\", and %s is \"%s\"; keep one of them."),
  COMPAT_MEMORY_MALFORMED(
      "%s: \"%s\" is not a number of MiB above 0; for example %1$s: \"4096\", or with Tranche's"
          + " annotation %s: \"4Gi\"."),
  COMPAT_COUNTS_DIFFER(
      "container \"%s\" requests its share on %d GPUs and another container on %d; Tranche gives"
          + " all containers of a pod the same number, tranche.dev/gpu-count; request the same"
          + " number in each."),
  COMPAT_VALUE_UNKNOWN("%s: \"%s\" is not a value of this %s annotation; allowed are %s."),
  ABOVE_ANY_NODE("this pod requests %s, and no node has more than %s; request less."),
  TOO_LARGE("this pod has %s, which is too large; allowed are at most %s."),
  MORE("There are more problems; these are the first.");

  /** Maximum number of problems reported per pod, since its owner reads only a few sentences. */
  public static final int PER_POD_MAX = 8;

  private final String template;

  Denial(String template) {
    this.template = template;
  }

  public String of(Object... values) {
    return Printable.sentence(template, values);
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
