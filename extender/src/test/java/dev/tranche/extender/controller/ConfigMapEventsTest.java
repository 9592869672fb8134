package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.vertx.core.Future;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ConfigMapEventsTest {
  private static final ObjectReference MAP = Events.configMap("tranche", "tranche-config", "uid-7");

  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final ConfigMapEvents events =
      new ConfigMapEvents(rig.context, "tranche", "tranche-config");

  @BeforeEach
  void found() {
    rig.configMaps = name -> Future.succeededFuture(Optional.of(MAP));
  }

  private void refused(String node, String why) {
    add(node, "ConfigRefused", why, true);
  }

  private void add(String node, String reason, String message, boolean warning) {
    events.add(
        node,
        NodeEvent.newBuilder()
            .setReason(reason)
            .setMessage(message)
            .setWarning(warning)
            .setAtMs(rig.world.nowMs)
            .build());
  }

  @Test
  void refusedConfig_isAWarningOnTheConfigMap_thatNamesTheNode_andSoIsItsEnd() {
    refused("gpu-1", "config default is refused");
    add("gpu-1", "ConfigUsed", "config default is in use", false);
    assertThat(created).extracting(Event::getType).containsExactly("Warning", "Normal");
    assertThat(created)
        .extracting(Event::getMessage)
        .containsExactly(
            "node gpu-1: config default is refused", "node gpu-1: config default is in use");
    Event event = created.getFirst();
    assertThat(event.getInvolvedObject()).isEqualTo(MAP);
    assertThat(event.getMetadata().getNamespace()).isEqualTo("tranche");
    assertThat(event.getMetadata().getName()).startsWith("tranche-config.");
    assertThat(event.getReason()).isEqualTo("ConfigRefused");
  }

  @Test
  void whatManyNodesSayWithinAMinute_isOneEvent() {
    for (int node = 0; node < 1_000; node++) {
      refused("gpu-" + node, "config default is refused");
    }
    assertThat(created).hasSize(1);
    rig.world.nowMs += ConfigMapEvents.SAME.toMillis();
    refused("gpu-1", "config default is refused");
    assertThat(created).hasSize(2);
    assertThat(created.get(0).getMetadata().getName())
        .isNotEqualTo(created.get(1).getMetadata().getName());
  }

  @Test
  void nodeThatSaysOtherThingsAllTheTime_writesAtItsRate() {
    for (int second = 0; second < 600; second++) {
      rig.world.nowMs += 1_000;
      refused("gpu-1", "config default is refused " + second);
    }
    assertThat(created).hasSize(64 + 59);
  }

  @Test
  void otherEventsOfANode_andAMissingConfigMap_areNoEvents() {
    add("gpu-1", "GpuUnhealthy", "gpu 0", true);
    rig.configMaps = name -> Future.succeededFuture(Optional.empty());
    refused("gpu-1", "config default is refused");
    rig.configMaps = name -> Future.failedFuture("no answer");
    refused("gpu-1", "config other is refused");
    assertThat(created).isEmpty();
  }
}
