package dev.tranche.nodeplugin.limit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.MemoryLimit;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is known of the limits that pods ask for, and for how long. */
class LimitChoicesTest {
  private static final ContainerCgroups.Name MAIN = new ContainerCgroups.Name("ns", "p", "main");
  private static final int EXPIRY_MS = 3_600_000;

  private final LimitChoices choices = new LimitChoices();

  private static Assignment assignment(ContainerAssignment.Builder container) {
    return Assignment.newBuilder()
        .setPodUid("u")
        .setNamespace("ns")
        .setPod("p")
        .setExpiresInMs(EXPIRY_MS)
        .addContainers(container.setContainer("main"))
        .build();
  }

  private static Assignment wanting(long bytes) {
    return assignment(
        ContainerAssignment.newBuilder().setMemoryLimit(MemoryLimit.newBuilder().setBytes(bytes)));
  }

  private static List<Holding> held() {
    return List.of(
        Holding.newBuilder().setNamespace("ns").setPod("p").setContainer("main").build());
  }

  @Test
  void choice_isKeptWhileTheContainerHoldsReplicas_andForAWhile() {
    assertThat(choices.received(wanting(0), 0)).isTrue();
    assertThat(choices.received(wanting(0), 0)).isFalse();
    assertThat(choices.of(MAIN)).hasValue(0);
    assertThat(choices.held(held(), EXPIRY_MS)).isFalse();
    assertThat(choices.held(List.of(), EXPIRY_MS + LimitChoices.KEEP_MS - 1)).isFalse();
    assertThat(choices.of(MAIN)).hasValue(0);
    assertThat(choices.held(List.of(), EXPIRY_MS + LimitChoices.KEEP_MS)).isTrue();
    assertThat(choices.of(MAIN)).isEmpty();
  }

  @Test
  void laterPodOfTheSameName_hasItsOwnChoice() {
    choices.received(wanting(0), 0);
    assertThat(choices.received(wanting(1 << 20), 0)).isTrue();
    assertThat(choices.of(MAIN)).hasValue(1 << 20);
    assertThat(choices.received(assignment(ContainerAssignment.newBuilder()), 0)).isTrue();
    assertThat(choices.of(MAIN)).isEmpty();
  }

  @Test
  void restart_keepsChoices_andSkipsWhatCannotBeRead() {
    choices.received(wanting(5L << 30), 0);
    LimitChoices next = new LimitChoices();
    String kept = new String(choices.content(), UTF_8) + "no line\nns/q 5\nns/q/c -1\n";
    next.restore(kept.getBytes(UTF_8), 7);
    assertThat(next.of(MAIN)).hasValue(5L << 30);
    assertThat(next.size()).isOne();
    assertThat(next.content()).isEqualTo(choices.content());
    assertThat(next.held(List.of(), 7 + LimitChoices.KEEP_MS)).isTrue();
  }

  @Test
  void choices_areBounded() {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < LimitChoices.CONTAINERS_MAX + 5; i++) {
      lines.append("ns/p").append(i).append("/main 0\n");
    }
    choices.restore(lines.toString().getBytes(UTF_8), 0);
    assertThat(choices.received(wanting(0), 0)).isFalse();
    assertThat(choices.size()).isEqualTo(LimitChoices.CONTAINERS_MAX);
  }
}
