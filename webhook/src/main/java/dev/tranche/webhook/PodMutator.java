package dev.tranche.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.Mutation.Denied;
import dev.tranche.webhook.Mutation.Patched;
import dev.tranche.webhook.Mutation.Unchanged;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns what a new pod asks in fractions into replicas, and sends it to the scheduler that knows
 * what they mean. Seeing its own result again, it changes nothing.
 */
public final class PodMutator {
  private static final String DEFAULT_SCHEDULER = "default-scheduler";

  /** A pod may have thousands of annotations; its owner reads a few sentences. */
  private static final int PROBLEMS_MAX = 8;

  private final MutationRules rules;

  public PodMutator(MutationRules rules) {
    this.rules = rules;
  }

  /**
   * @param pod at its creation, as JSON; not changed
   */
  public Mutation mutate(JsonNode pod, MutationRules.Cluster cluster) {
    var original = new PodView(pod);
    if (foreign(original.text("schedulerName"))) {
      return new Unchanged(foreignWarnings(original));
    }
    Translation translation = Translation.of(original, rules, cluster.nodes());
    var view = new PodView(translation.pod());
    var problems = new ArrayList<>(translation.problems());
    Asks asks = Asks.read(view, problems);
    Wishes.check(view.annotations(), problems);
    if (!problems.isEmpty()) {
      return denied(problems);
    }
    var warnings = new ArrayList<>(translation.warnings());
    boolean ours = !asks.isEmpty() || requestsOurs(view);
    Wishes.warn(view.annotations(), ours, warnings);
    var patch = new JsonPatch();
    translation.write(patch);
    Stamps stamps = Stamps.NONE;
    if (ours) {
      var affinity = new Affinity(view.spec());
      Landing.requireModel(view, cluster.nodes(), affinity);
      if (!asks.isEmpty()) {
        switch (grant(view, asks, cluster.nodes())) {
          case Granting.Refused(var reasons) -> {
            return denied(reasons);
          }
          case Granting.Granted granted -> {
            stamps = write(granted, affinity, patch);
            warnings.addAll(granted.warnings());
          }
        }
      }
      affinity.write(patch);
      writePodFields(view, cluster, patch);
    }
    stamps.write(view.annotations(), patch);
    return patch.isEmpty() ? new Unchanged(warnings) : new Patched(patch, warnings);
  }

  /** What comes of the asks on the nodes that the pod can land on. */
  private sealed interface Granting {
    /**
     * @param pinnedMib the memory that nodes must be labelled with; empty: any
     */
    record Granted(List<Grant> grants, Cut cut, List<String> pinnedMib, List<String> warnings)
        implements Granting {}

    record Refused(List<String> reasons) implements Granting {}
  }

  private Granting grant(PodView view, Asks asks, List<GpuNode> nodes) {
    Landing landing = Landing.of(view, asks, nodes, rules.memory());
    Cut cut = Cut.of(landing, rules.defaultReplicasPerGpu());
    var warnings = new ArrayList<String>();
    cut.warning().ifPresent(warnings::add);
    if (landing.able().isEmpty() && !nodes.isEmpty()) {
      warnings.add(Warning.NO_NODE.of());
    }
    long usableBytes = 0;
    List<String> pinnedMib = List.of();
    if (asks.memoryBytesMax().isPresent()) {
      switch (GpuMemory.of(asks, cut, rules.memory())) {
        case GpuMemory.Refused(String reason) -> {
          return new Granting.Refused(List.of(reason));
        }
        case GpuMemory.Known known -> {
          usableBytes = known.usableBytes();
          pinnedMib = known.pinnedMib();
          known.warning().ifPresent(warnings::add);
        }
      }
    }
    List<Grant> grants = Grant.of(asks, cut.replicasPerGpu(), usableBytes);
    List<String> denials = Denials.of(view, grants, cut, resource());
    if (!denials.isEmpty()) {
      return new Granting.Refused(denials);
    }
    grants.stream().filter(Grant::roundedUp).map(Grant::warning).forEach(warnings::add);
    asks.asks().stream()
        .map(a -> a.container())
        .filter(c -> !c.spec().path("resources").path("claims").isEmpty())
        .map(c -> Warning.CLAIMS.of(c.name()))
        .forEach(warnings::add);
    return new Granting.Granted(grants, cut, pinnedMib, warnings);
  }

  private Stamps write(Granting.Granted granted, Affinity affinity, JsonPatch patch) {
    Cut cut = granted.cut();
    granted.grants().forEach(grant -> Requests.write(grant, resource(), patch));
    if (cut.pinned()) {
      affinity.require(Names.LABEL_REPLICAS, "In", List.of(String.valueOf(cut.replicasPerGpu())));
    }
    // Always: replicas of a GPU with another memory would be another amount.
    if (!granted.pinnedMib().isEmpty()) {
      affinity.require(Names.LABEL_MEMORY, "In", granted.pinnedMib());
    }
    return Stamps.of(granted.grants(), cut.replicasPerGpu());
  }

  private static Denied denied(List<String> problems) {
    List<String> shown = problems.stream().distinct().limit(PROBLEMS_MAX).toList();
    int more = (int) problems.stream().distinct().count() - shown.size();
    String sentences = String.join(" ", shown);
    return new Denied(more == 0 ? sentences : sentences + " " + Denial.MORE.of(more));
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
    return Asks.firstKey(pod.annotations())
        .map(key -> Warning.FOREIGN_SCHEDULER.of(pod.text("schedulerName"), key))
        .map(List::of)
        .orElse(List.of());
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
}
