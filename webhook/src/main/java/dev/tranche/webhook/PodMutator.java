package dev.tranche.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.Mutation.Denied;
import dev.tranche.webhook.Mutation.Patched;
import dev.tranche.webhook.Mutation.Unchanged;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Turns what a new pod asks in fractions into replicas, and sends it to the scheduler that knows
 * what they mean. Seeing its own result again, it changes nothing.
 */
public final class PodMutator {
  private static final String DEFAULT_SCHEDULER = "default-scheduler";

  private final MutationRules rules;

  public PodMutator(MutationRules rules) {
    this.rules = rules;
  }

  /**
   * @param pod at its creation, as JSON; not changed
   */
  public Mutation mutate(JsonNode pod, MutationRules.Cluster cluster) {
    var view = new PodView(pod);
    if (foreign(view.text("schedulerName"))) {
      return new Unchanged(foreignWarnings(view));
    }
    var problems = new ArrayList<String>();
    var warnings = new ArrayList<String>();
    Asks asks = Asks.read(view, problems, warnings);
    var patch = new JsonPatch();
    List<Grant> grants = List.of();
    Stamps stamps = Stamps.NONE;
    if (!asks.isEmpty() && problems.isEmpty()) {
      Cut cut = Cut.of(view, cluster.nodes(), rules.defaultReplicasPerGpu());
      grants = Grant.of(asks, cut.replicasPerGpu());
      problems.addAll(Denials.of(view, grants, cut, resource()));
      cut.warning().ifPresent(warnings::add);
      grants.stream().filter(Grant::roundedUp).map(Grant::warning).forEach(warnings::add);
      stamps = Stamps.of(grants, cut.replicasPerGpu());
      grants.forEach(grant -> Requests.write(grant, resource(), patch));
      if (cut.pinned()) {
        Affinity.require(
            view.spec(), Names.LABEL_REPLICAS, String.valueOf(cut.replicasPerGpu()), patch);
      }
    }
    if (!problems.isEmpty()) {
      return new Denied(String.join(" ", problems));
    }
    stamps.write(view.annotations(), patch);
    if (!grants.isEmpty() || requestsOurs(view)) {
      writePodFields(view, cluster, patch);
    }
    return patch.isEmpty() ? new Unchanged(warnings) : new Patched(patch, warnings);
  }

  /** Fractions become replicas of the first resource. */
  private String resource() {
    return rules.resources().getFirst();
  }

  private boolean foreign(String schedulerName) {
    return !schedulerName.isEmpty()
        && !schedulerName.equals(DEFAULT_SCHEDULER)
        && !schedulerName.equals(rules.schedulerName());
  }

  private static List<String> foreignWarnings(PodView pod) {
    return Asks.fractions(pod.annotations())
        ? List.of(
            "this pod's schedulerName is \"%s\", so Tranche leaves it alone, and its %s has no effect"
                .formatted(pod.text("schedulerName"), Names.GPU_FRACTION))
        : List.of();
  }

  private boolean requestsOurs(PodView pod) {
    return pod.containers().stream()
        .anyMatch(c -> rules.resources().stream().anyMatch(r -> c.requested(r) > 0));
  }

  private void writePodFields(PodView pod, MutationRules.Cluster cluster, JsonPatch patch) {
    String scheduler = rules.schedulerName();
    if (!scheduler.isEmpty() && !pod.text("schedulerName").equals(scheduler)) {
      patch.add(scheduler, "spec", "schedulerName");
    }
    if (cluster.runtimeClassExists()
        && !rules.runtimeClass().isEmpty()
        && pod.text("runtimeClassName").isEmpty()) {
      patch.add(rules.runtimeClass(), "spec", "runtimeClassName");
    }
  }

  /**
   * Our words on the pod. Whatever the user wrote there is overwritten or removed, since the
   * extender believes them.
   */
  private record Stamps(Map<String, String> values) {
    static final Stamps NONE = new Stamps(Map.of());
    private static final Set<String> OURS =
        Set.of(Names.REPLICAS_PER_GPU, Names.GRANTED_FRACTION, Names.GPU);

    static Stamps of(List<Grant> grants, int replicasPerGpu) {
      String replicas = String.valueOf(replicasPerGpu);
      List<Grant> rounded = grants.stream().filter(Grant::roundedUp).toList();
      if (rounded.isEmpty()) {
        return new Stamps(Map.of(Names.REPLICAS_PER_GPU, replicas));
      }
      String granted =
          grants.size() == 1
              ? rounded.getFirst().fraction()
              : rounded.stream()
                  .map(g -> g.ask().container().name() + "=" + g.fraction())
                  .collect(Collectors.joining(","));
      return new Stamps(Map.of(Names.REPLICAS_PER_GPU, replicas, Names.GRANTED_FRACTION, granted));
    }

    /** The map is there where there are stamps to write: an annotation asked for them. */
    void write(Map<String, String> annotations, JsonPatch patch) {
      for (String stamp : OURS.stream().sorted().toList()) {
        String value = values.get(stamp);
        if (value != null && !value.equals(annotations.get(stamp))) {
          patch.add(value, "metadata", "annotations", stamp);
        } else if (value == null && annotations.containsKey(stamp)) {
          patch.remove("metadata", "annotations", stamp);
        }
      }
    }
  }
}
