package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

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
    return patch.operations().size() > GuardScan.OPERATIONS_MAX
        ? Verdict.UNCHANGED.mutation()
        : Mutation.admitted(patch, warnings.stream().limit(FindingOutcome.WARNINGS_MAX).toList());
  }

  private void restore(Container container, Container known) {
    restoreVariables(container, known);
    if (mayUseNvidiaRuntime) {
      restoreMounts(container, known);
    }
  }

  private void restoreVariables(Container container, Container known) {
    boolean gpu = requestsGpus.test(known);
    Set<String> watched = Set.copyOf(Variables.watched(gpu, mayUseNvidiaRuntime));
    JsonNode variables = container.spec().path("env");
    JsonNode knownVariables = known.spec().path("env");
    List<Integer> stated = indexes(variables, "name", watched);
    List<Integer> left = indexes(knownVariables, "name", watched);
    boolean takenAway =
        gpu ? left.isEmpty() : left.size() == 1 && isVoid(knownVariables.path(left.getFirst()));
    Optional<JsonNode> again =
        stated.stream()
            .map(variables::path)
            .filter(v -> Variables.isRemoved(v) || (gpu && isVoid(v)))
            .findFirst();
    if (!takenAway || again.isEmpty()) {
      return;
    }
    warn(container, again.get().path("name").asText(""));
    removeAll(container, "env", stated);
    int size = variables.size() - stated.size();
    for (int index : left) {
      String place = index < size ? String.valueOf(index) : "-";
      patch.add(knownVariables.path(index), container.path("env", place));
    }
  }

  private static boolean isVoid(JsonNode variable) {
    return variable.path("name").asText("").equals(Variables.NAME)
        && variable.path("value").asText("").equals(Variables.VOID)
        && !variable.path("valueFrom").isObject();
  }

  private void restoreMounts(Container container, Container known) {
    JsonNode mounts = container.spec().path("volumeMounts");
    Set<String> left = new TreeSet<>();
    known.spec().path("volumeMounts").forEach(m -> left.add(m.path("mountPath").asText("")));
    Set<String> taken = new TreeSet<>();
    for (JsonNode mount : mounts) {
      String path = mount.path("mountPath").asText("");
      if (DeviceListMounts.namesGpu(path) && !left.contains(path)) {
        taken.add(path);
      }
    }
    if (!taken.isEmpty()) {
      warn(container, "the mount " + taken.iterator().next());
      removeAll(container, "volumeMounts", indexes(mounts, "mountPath", taken));
    }
  }

  private static List<Integer> indexes(JsonNode list, String field, Set<String> values) {
    var indexes = new ArrayList<Integer>();
    int index = 0;
    for (JsonNode element : list) {
      if (values.contains(element.path(field).asText(""))) {
        indexes.add(index);
      }
      index++;
    }
    return indexes;
  }

  /** Removes elements, the last one first, so that the indexes of the others stay valid. */
  private void removeAll(Container container, String list, List<Integer> indexes) {
    indexes.reversed().forEach(index -> patch.remove(container.path(list, String.valueOf(index))));
  }

  private void warn(Container container, String what) {
    warnings.add(
        "container \"%s\" declares %s again; Tranche removed it."
            .formatted(Printable.value(container.name()), Printable.value(what)));
  }
}
