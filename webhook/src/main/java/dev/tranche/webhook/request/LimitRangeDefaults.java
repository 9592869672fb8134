package dev.tranche.webhook.request;

import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import java.util.List;

/**
 * Numbers that a LimitRange of the namespace has written into containers, before webhooks are
 * called. A LimitRange with a max and no default makes the max the default of every container. The
 * API server notes in an annotation what it has written.
 */
public final class LimitRangeDefaults {
  private static final String ANNOTATION = "kubernetes.io/limit-ranger";
  private static final String BEGINS = "LimitRanger plugin set: ";
  private static final int WARNINGS_MAX = 3;

  private LimitRangeDefaults() {}

  /** Whether the number of a resource in a container is that of a LimitRange. */
  public static boolean wrote(PodView pod, Container container, String resource) {
    String note = pod.annotations().getOrDefault(ANNOTATION, "");
    if (!note.startsWith(BEGINS)) {
      return false;
    }
    String of = (container.list().equals("initContainers") ? "init " : "") + "container ";
    for (String each : note.substring(BEGINS.length()).split("; ", -1)) {
      int end = each.indexOf(" limit for " + of + container.name());
      if (end < 0) {
        end = each.indexOf(" request for " + of + container.name());
      }
      if (end >= 0
          && each.endsWith(" " + container.name())
          && List.of(each.substring(0, end).split(", ", -1)).contains(resource)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds a warning for containers that request GPUs only since a LimitRange says so.
   *
   * @param shares the containers that request a share
   */
  public static void warn(
      PodView pod, String resource, List<Container> shares, List<String> warnings) {
    pod.containers().stream()
        .filter(c -> c.requested(resource) > 0 && !shares.contains(c) && wrote(pod, c, resource))
        .limit(WARNINGS_MAX)
        .map(c -> Warning.LIMIT_RANGE.of(c.name(), resource, c.requested(resource)))
        .forEach(warnings::add);
  }
}
