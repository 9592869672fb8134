package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Event;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Room that is there in sum and on no GPU. */
@Order(15)
class FragmentationE2E extends Scenario {
  @Test
  void twoHoles_neverTakeAShareThatFitsNeither() {
    occupyAlpha();
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("three", "0.3")));

    assertThat(pendingMessage("three"))
        .contains("no single GPU has enough")
        .doesNotContainPattern("gpu \\d");
    Await.until("the event with the figures", 60, () -> !figures().isEmpty());
    assertThat(figures()).contains("Fragmented: ").contains("0.2 free, needs 0.3");
    assertThat(tranche().queryReadApi("/api/v1/pods/" + namespace + "/three?output=table"))
        .anySatisfy(page -> assertThat(page.body()).contains("0.2 free, needs 0.3 of one GPU"));
    assertThat(get("three").getSpec().getNodeName()).isNull();
  }

  @Test
  void waitingPod_startsSoonAfterARoomyOneEnds() {
    occupyAlpha();
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("three", "0.3")));
    pendingMessage("three");
    delete("eight-0");
    Await.until("the waiting pod to be placed", 3, () -> nodeOf(get("three")) != null);
    running("three");
  }

  /** Leaves two replicas free on each of alpha's GPUs. */
  private void occupyAlpha() {
    for (int i = 0; i < 2; i++) {
      var here = Map.of(Names.GPU_FRACTION, "0.8", Names.GPU_UUID, tranche().gpus(ALPHA).uuid(i));
      create(PodSpecs.annotated("eight-" + i, here));
    }
    running("eight-0");
    running("eight-1");
  }

  private String figures() {
    return events("three").stream()
        .map(Event::getMessage)
        .filter(message -> message.contains("Fragmented: "))
        .findFirst()
        .orElse("");
  }
}
