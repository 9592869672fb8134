package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Event;
import org.junit.jupiter.api.Test;

final class EventsTest {
  /** The API server refuses an event with a longer name. */
  private static final int NAME_CHARS_MAX = 253;

  @Test
  void warning_aboutAPodWithTheLongestName_hasANameThatTheApiServerTakes() {
    String pod = "p".repeat(NAME_CHARS_MAX);
    Event event =
        Events.warning(Events.pod("ns", pod, "uid"), Events.uuid("id"), "Reason", "message");
    assertThat(event.getMetadata().getName()).hasSizeLessThanOrEqualTo(NAME_CHARS_MAX);
    assertThat(event.getInvolvedObject().getName()).isEqualTo(pod);
  }

  @Test
  void warning_aboutANode_isInTheDefaultNamespace() {
    Event event = Events.warning(Events.node("a"), Events.uuid("id"), "Reason", "message");
    assertThat(event.getMetadata().getNamespace()).isEqualTo("default");
    assertThat(event.getInvolvedObject().getNamespace()).isNull();
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("a");
  }
}
