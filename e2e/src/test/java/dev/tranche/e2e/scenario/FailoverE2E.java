package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The extender that decides is gone, and another one takes over. */
@Tag("slice2")
@Order(90)
class FailoverE2E extends Scenario {
  private static final int PODS = 200;

  @Test
  void leaderKilledInTheMiddleOfABurst_losesNoPodAndGivesNothingTwice() {
    for (int i = 0; i < PODS; i++) {
      if (i == PODS / 2) {
        killLeader();
      }
      create(brief("p" + i));
    }
    Await.until(
        PODS + " pods to end well",
        300,
        () -> phases().getOrDefault("Succeeded", 0L) == PODS,
        () -> phases() + tranche().cluster().kubectl("-n", namespace, "get", "events").out());
    assertThat(pods()).allSatisfy(pod -> assertThat(assigned(pod)).hasSize(1));
    Await.until(
        "the Ledger to be empty again",
        20,
        () -> Inspection.of(tranche()).nothingHeld(),
        () -> tranche().gpuTables());
  }

  /** Ends by itself, so that later ones find room. */
  private static Pod brief(String name) {
    Container main =
        new ContainerBuilder(PodSpecs.container("main")).withCommand(List.of("sleep", "1")).build();
    return new PodBuilder(PodSpecs.fraction(name, "0.3").build())
        .editSpec()
        .withRestartPolicy("Never")
        .withContainers(main)
        .endSpec()
        .build();
  }

  /** Without a word: no drain, no lease released. */
  private static void killLeader() {
    String holder =
        client()
            .leases()
            .inNamespace(Tranche.NAMESPACE)
            .withName(tranche().usesExistingScheduler() ? "tranche-extender" : "tranche-scheduler")
            .get()
            .getSpec()
            .getHolderIdentity();
    Pod leader =
        tranche().parts("extender").stream()
            .filter(pod -> holder.startsWith(pod.getMetadata().getName()))
            .findFirst()
            .orElseThrow();
    client().resource(leader).withGracePeriod(0).delete();
  }
}
