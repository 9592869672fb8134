package dev.tranche.process.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import java.util.List;
import org.junit.jupiter.api.Test;

final class EventsTest {
  /** The API server refuses an event with a longer name. */
  private static final int NAME_CHARS_MAX = 253;

  private static Event warning(ObjectReference object) {
    return Events.warning("tranche-extender", object, Events.uuid("id"), "Reason", "message");
  }

  @Test
  void warning_aboutAPodWhoseNameIsShortened_hasANameThatTheApiServerTakes() {
    for (String end : List.of("-", ".", "-.-")) {
      String pod = "p".repeat(200 - end.length()) + end + "p".repeat(40);
      String name = warning(Events.pod("ns", pod, "uid")).getMetadata().getName();
      assertThat(name).matches("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
    }
  }

  @Test
  void warning_aboutAPodWithTheLongestName_hasANameThatTheApiServerTakes() {
    String pod = "p".repeat(NAME_CHARS_MAX);
    Event event = warning(Events.pod("ns", pod, "uid"));
    assertThat(event.getMetadata().getName()).hasSizeLessThanOrEqualTo(NAME_CHARS_MAX);
    assertThat(event.getInvolvedObject().getName()).isEqualTo(pod);
  }

  @Test
  void warning_aboutANode_isInTheDefaultNamespace() {
    Event event = warning(Events.node("a"));
    assertThat(event.getMetadata().getNamespace()).isEqualTo("default");
    assertThat(event.getInvolvedObject().getNamespace()).isNull();
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("a");
  }
}
