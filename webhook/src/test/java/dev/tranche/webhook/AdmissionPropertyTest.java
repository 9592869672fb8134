package dev.tranche.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.mutate.PodUpdate;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds for any pod on its way through both entries, and when its manifest comes again. */
class AdmissionPropertyTest {
  private static final int PODS = 2_000;

  /** Where the patch may write. */
  private static final Pattern OURS =
      Pattern.compile(
          "/metadata/annotations(/tranche\\.dev~1[A-Za-z0-9.-]+)?|/spec/(affinity.*|schedulerName|runtimeClassName|nodeSelector.*)"
              + "|/spec/(initC|c)ontainers/\\d+/resources.*");

  private final Guard guard = new Guard(Reviews.guardRules(GuardMode.VOID, true), node -> Set.of());

  @ParameterizedTest
  @EnumSource
  void admittedPod_isAdmittedAgainUnchanged_whateverAnotherWebhookAddedInBetween(
      MutationRules.PlainRequests plain) {
    var mutator = new PodMutator(PlainRequestsTest.rules(plain));
    int admitted = 0;
    int again = 0;
    long[] seeds = Seeds.of(PODS);
    for (long seed : seeds) {
      var pods = new RandomPods(Seeds.random(seed));
      var cluster = Reviews.cluster(pods.nodes());
      // An injector may come before ours, and others after it.
      JsonNode pod = seed % 4 == 0 ? pods.injected(pods.pod(), 0) : pods.pod();
      Optional<JsonNode> once = admit(mutator, pod, cluster);
      if (once.isEmpty()) {
        continue;
      }
      admitted++;
      String what = "seed %d, %s became %s".formatted(seed, pod, once.get());
      assertThat(admit(mutator, once.get(), cluster)).as(what).isEqualTo(once);
      JsonNode injected = pods.injected(once.get(), 1);
      injected = seed % 2 == 0 ? pods.injected(injected, 2) : injected;
      Optional<JsonNode> twice = admit(mutator, injected, cluster);
      if (twice.isPresent()) {
        again++;
        what = "seed %d, %s became %s".formatted(seed, injected, twice.get());
        assertThat(admit(mutator, twice.get(), cluster)).as(what).isEqualTo(twice);
        assertThat(requests(twice.get())).as(what).containsAll(requests(once.get()));
      }
    }
    assertThat(admitted).isGreaterThanOrEqualTo(seeds.length / 5);
    assertThat(again).isGreaterThanOrEqualTo(admitted * 9 / 10);
  }

  @ParameterizedTest
  @EnumSource
  void manifestThatIsAppliedAgain_changesNothing(MutationRules.PlainRequests plain) {
    MutationRules rules = PlainRequestsTest.rules(plain);
    var mutator = new PodMutator(rules);
    int restored = 0;
    long[] seeds = Seeds.of(PODS);
    for (long seed : seeds) {
      var pods = new RandomPods(Seeds.random(seed));
      ObjectNode manifest = pods.pod();
      Optional<JsonNode> admitted = admit(mutator, manifest, Reviews.cluster(pods.nodes()));
      if (admitted.isEmpty()) {
        continue;
      }
      JsonNode live = admitted.get();
      JsonNode applied = pods.appliedAgain(live, manifest);
      JsonNode byFraction = Reviews.apply(PodUpdate.restore(live, applied, rules), applied);
      JsonNode byGuard = Reviews.apply(guard.restore(live, byFraction), byFraction);
      assertThat(withoutEmptyLists(byGuard))
          .as("seed %d, %s is %s, and again %s", seed, manifest, live, applied)
          .isEqualTo(withoutEmptyLists(live));
      restored += applied.equals(live) ? 0 : 1;
    }
    assertThat(restored).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  /** Kubernetes sees no difference between an empty list and none. */
  private static JsonNode withoutEmptyLists(JsonNode pod) {
    JsonNode copy = pod.deepCopy();
    for (String list : List.of("containers", "initContainers")) {
      for (JsonNode container : copy.path("spec").path(list)) {
        for (String field : List.of("env", "volumeMounts")) {
          if (container.path(field).isEmpty()) {
            ((ObjectNode) container).remove(field);
          }
        }
      }
    }
    return copy;
  }

  /** Empty if it is denied. */
  private Optional<JsonNode> admit(
      PodMutator mutator, JsonNode pod, MutationRules.Cluster cluster) {
    JsonNode before = pod.deepCopy();
    Mutation mutation = mutator.mutate(pod, cluster);
    assertThat(pod).isEqualTo(before);
    if (mutation instanceof Mutation.Admitted(var patch, var warnings)) {
      assertThat(patch.findValuesAsText("path")).allMatch(OURS.asMatchPredicate());
    }
    if (mutation instanceof Mutation.Denied(String message, String reason)) {
      assertThat(message).endsWith(".");
      return Optional.empty();
    }
    JsonNode mutated = Reviews.apply(mutation, pod);
    Verdict verdict = guard.judge(Reviews.created("team", mutated), GuardMode.VOID);
    return verdict.mutation() instanceof Mutation.Denied
        ? Optional.empty()
        : Optional.of(Reviews.apply(verdict.mutation(), mutated));
  }

  /** Who requests how many. */
  private static List<String> requests(JsonNode pod) {
    return List.of("containers", "initContainers").stream()
        .flatMap(list -> pod.path("spec").path(list).valueStream())
        .map(c -> c.path("name") + "=" + c.at("/resources/limits").path("nvidia.com/gpu"))
        .toList();
  }
}
