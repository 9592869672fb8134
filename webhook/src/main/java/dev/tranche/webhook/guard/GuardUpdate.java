package dev.tranche.webhook.guard;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Answers an update that states again what the guard had taken away at the pod's creation, as a
 * manifest does that is applied twice. Kubernetes would refuse it, since containers are fixed. The
 * variables and mounts are written back as the pod has them, so no answer can change a pod.
 */
final class GuardUpdate {
  private final Predicate<Container> requestsGpus;
  private final boolean mayUseNvidiaRuntime;
  private final JsonPatch patch = new JsonPatch();
  private final List<String> warnings = new ArrayList<>();

  /**
   * @param requestsGpus whether a container requests GPUs
   * @param mayUseNvidiaRuntime whether the nvidia runtime may run the pod
   */
  GuardUpdate(Predicate<Container> requestsGpus, boolean mayUseNvidiaRuntime) {
    this.requestsGpus = requestsGpus;
    this.mayUseNvidiaRuntime = mayUseNvidiaRuntime;
  }

  /**
   * @param before the pod as it is
   * @param after the pod as the update would make it
   */
  Mutation restore(PodView before, PodView after) {
    for (Container container : after.containers()) {
      before
          .container(container.name())
          .filter(known -> known.list().equals(container.list()))
          .ifPresent(known -> restore(container, known));
    }
    return Mutation.admitted(patch, warnings.stream().limit(FindingOutcome.WARNINGS_MAX).toList());
  }

  private void restore(Container container, Container known) {
    boolean gpu = requestsGpus.test(known);
    if (gpu || known.spec().path("env").valueStream().anyMatch(Variables::isVoid)) {
      List<String> watched = Variables.watched(gpu, mayUseNvidiaRuntime);
      restore(
          container,
          known,
          "env",
          "name",
          variable -> watched.contains(text(variable, "name")),
          variable -> Variables.isRemoved(variable) || (gpu && Variables.isVoid(variable)));
    }
    if (mayUseNvidiaRuntime) {
      restore(
          container,
          known,
          "volumeMounts",
          "mountPath",
          mount -> DeviceListMounts.namesGpu(text(mount, "mountPath")),
          mount -> true);
    }
  }

  /**
   * Writes a list back if the guard takes away what the update adds to it.
   *
   * @param name the field that tells its elements apart
   * @param watched what the guard takes away where it takes any
   */
  private void restore(
      Container container,
      Container known,
      String list,
      String name,
      Predicate<JsonNode> watched,
      Predicate<JsonNode> takenAway) {
    JsonNode stated = container.spec().path(list);
    JsonNode present = known.spec().path(list);
    List<JsonNode> added = difference(stated, present, name);
    if (added.stream().allMatch(watched)
        && added.stream().anyMatch(takenAway)
        && difference(present, stated, name).stream().allMatch(Variables::isVoid)) {
      if (present.isMissingNode()) {
        patch.remove(container.path(list));
      } else {
        patch.add(present, container.path(list));
      }
      String what = text(added.getFirst(), "mountPath");
      warnings.add(
          "container \"%s\" declares %s again; Tranche removed it."
              .formatted(
                  Printable.value(container.name()),
                  Printable.value(
                      what.isEmpty() ? text(added.getFirst(), "name") : "the mount " + what)));
    }
  }

  /** Returns the elements that the other list has not, or not so. Of one name, the last counts. */
  private static List<JsonNode> difference(JsonNode list, JsonNode from, String name) {
    Map<String, JsonNode> known =
        from.valueStream()
            .collect(Collectors.toMap(each -> text(each, name), each -> each, (a, last) -> last));
    return list.valueStream().filter(each -> !each.equals(known.get(text(each, name)))).toList();
  }
}
