package dev.tranche.nodeplugin.usage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.OveruseOptions;
import java.util.List;
import org.junit.jupiter.api.Test;

class OveruseTest {
  private static final String GPU = "GPU-a";
  private static final long USABLE = 1_000;
  private static final Grants GRANTS =
      Grants.of(List.of(holding("greedy", "GPU-a::0", "GPU-a::1"), holding("meek", "GPU-a::2")));

  private final Overuse overuse = new Overuse(new OveruseOptions(0.05, 3, true));

  private static Holding holding(String pod, String... ids) {
    return Holding.newBuilder()
        .setNamespace("ns")
        .setPod(pod)
        .setContainer("c")
        .setReplicasPerGpu(10)
        .addAllDeviceIds(List.of(ids))
        .build();
  }

  private static ContainerUse use(String pod, long bytes) {
    return new ContainerUse(new ContainerName("ns", pod, "c"), bytes, 0);
  }

  private List<Overuse.EpisodeChange> judge(ContainerUse... uses) {
    return overuse.judge(GPU, USABLE, 10, List.of(uses), GRANTS);
  }

  @Test
  void sameIdOfTwoResources_isTwoGrants() {
    var old = holding("old", "GPU-a::0").toBuilder().setReplicasPerGpu(2).build();
    var grants = Grants.of(List.of(old, holding("new", "GPU-a::0")));
    assertThat(grants.share(GPU, new ContainerName("ns", "old", "c"))).isEqualTo(0.5);
    assertThat(grants.share(GPU, new ContainerName("ns", "new", "c"))).isEqualTo(0.1);
  }

  @Test
  void episode_isReportedOnce_withItsNeighbours_andEndsOnce() {
    assertThat(judge(use("greedy", 211))).isEmpty();
    assertThat(judge(use("greedy", 211))).isEmpty();
    assertThat(overuse.cordonReason(GPU)).isEmpty();
    assertThat(judge(use("greedy", 211)))
        .singleElement()
        .returns(true, Overuse.EpisodeChange::began)
        .returns(200L, Overuse.EpisodeChange::grantedBytes)
        .satisfies(
            change -> assertThat(change.neighbours()).containsExactly(new PodName("ns", "meek")))
        .satisfies(
            change -> {
              assertThat(change.sentenceFor("ns")).contains("pod ns/greedy, container");
              assertThat(change.sentenceFor("other"))
                  .startsWith("a pod of another namespace uses ")
                  .doesNotContain("greedy", "ns/");
            });
    assertThat(overuse.cordonReason(GPU)).contains("ns/greedy");
    for (int i = 0; i < 5; i++) {
      assertThat(judge(use("greedy", 500))).isEmpty();
    }
    assertThat(judge(use("greedy", 200))).isEmpty();
    assertThat(judge(use("greedy", 200))).isEmpty();
    assertThat(judge(use("greedy", 200)))
        .singleElement()
        .returns(false, Overuse.EpisodeChange::began);
    assertThat(overuse.cordonReason(GPU)).isEmpty();
  }

  @Test
  void useWithinTheTolerance_orForAMomentOnly_isNone() {
    for (int i = 0; i < 10; i++) {
      assertThat(judge(use("greedy", i % 3 == 2 ? 210 : 900))).isEmpty();
    }
  }

  @Test
  void containerThatLeaves_endsItsEpisode() {
    for (int i = 0; i < 3; i++) {
      judge(use("greedy", 500));
    }
    assertThat(judge()).singleElement().returns(false, Overuse.EpisodeChange::began);
    assertThat(overuse.cordonReason(GPU)).isEmpty();
    assertThat(judge()).isEmpty();
  }

  @Test
  void containerWithoutAGrant_mayHaveALittle() {
    for (int i = 0; i < 5; i++) {
      assertThat(judge(use("monitor", 5))).isEmpty();
    }
    judge(use("stranger", 6));
    judge(use("stranger", 6));
    assertThat(judge(use("stranger", 6)))
        .singleElement()
        .satisfies(
            change ->
                assertThat(change.neighbours())
                    .containsExactlyInAnyOrder(
                        new PodName("ns", "greedy"), new PodName("ns", "meek")));
  }

  @Test
  void initContainer_mayHaveWhatItsPodHas() {
    for (int i = 0; i < 5; i++) {
      assertThat(judge(new ContainerUse(new ContainerName("ns", "greedy", "init"), 210, 0)))
          .isEmpty();
    }
    assertThat(GRANTS.share(GPU, new ContainerName("ns", "meek", "c"))).isEqualTo(0.1);
    assertThat(GRANTS.share(GPU, new ContainerName("ns", "greed", "init"))).isZero();
  }

  @Test
  void observing_cordonsNothing() {
    var observing = new Overuse(new OveruseOptions(0.05, 1, false));
    assertThat(observing.judge(GPU, USABLE, 10, List.of(use("greedy", 900)), GRANTS)).hasSize(1);
    assertThat(observing.cordonReason(GPU)).isEmpty();
  }
}
