package dev.tranche.extender.dra;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Which nodes serve nvidia.com/gpu by a DRA driver. */
class DraNodesTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String DRIVER = "gpu.nvidia.com";
  private static final List<String> NVIDIAS = List.of("device.driver == 'gpu.nvidia.com'");
  private final DraNodes nodes = new DraNodes(List.of(GPU, "nvidia.com/gpu.shared"));

  @Test
  void nodeWithASliceOfTheClassesDriver_servesTheResource() {
    nodes.classSeen("gpu", GPU, NVIDIAS);
    nodes.sliceSeen("a-1", "a", DRIVER);
    nodes.sliceSeen("b-1", "b", "nic.example.com");
    assertThat(nodes.serves("a")).isTrue();
    assertThat(nodes.serves("b")).isFalse();
    assertThat(nodes.serves("c")).isFalse();
  }

  @Test
  void classWithoutOurResource_mapsNothing() {
    nodes.classSeen("gpu", "", NVIDIAS);
    nodes.classSeen("nic", "example.com/nic", List.of());
    nodes.sliceSeen("a-1", "a", DRIVER);
    assertThat(nodes.isMapped()).isFalse();
    assertThat(nodes.serves("a")).isFalse();
  }

  @Test
  void classThatTakesTheResourceBack_mapsNothingAnyMore() {
    nodes.classSeen("gpu", GPU, NVIDIAS);
    nodes.sliceSeen("a-1", "a", DRIVER);
    nodes.classSeen("gpu", "", NVIDIAS);
    assertThat(nodes.serves("a")).isFalse();
    nodes.classSeen("gpu", GPU, NVIDIAS);
    nodes.classGone("gpu");
    assertThat(nodes.serves("a")).isFalse();
  }

  @Test
  void classWithoutSelectors_takesDevicesOfEveryDriver() {
    nodes.classSeen("any", GPU, List.of());
    nodes.sliceSeen("a-1", "a", "gpu.example.com");
    assertThat(nodes.serves("a")).isTrue();
  }

  @Test
  void driver_belongsToAClass_onlyByItsWholeName_inEitherQuotes() {
    nodes.classSeen("gpu", GPU, List.of("device.driver == \"vfio.gpu.nvidia.com\""));
    nodes.sliceSeen("a-1", "a", DRIVER);
    assertThat(nodes.serves("a")).isFalse();
    nodes.classSeen("gpu", GPU, List.of("true", "device.driver == \"gpu.nvidia.com\""));
    assertThat(nodes.serves("a")).isTrue();
  }

  @Test
  void node_servesUntilItsLastSliceIsGone() {
    nodes.classSeen("gpu", GPU, NVIDIAS);
    nodes.sliceSeen("a-1", "a", DRIVER);
    nodes.sliceSeen("a-2", "a", DRIVER);
    nodes.sliceSeen("a-2", "a", DRIVER);
    nodes.sliceGone("a-1");
    assertThat(nodes.serves("a")).isTrue();
    nodes.sliceGone("a-2");
    nodes.sliceGone("a-2");
    assertThat(nodes.serves("a")).isFalse();
    assertThat(nodes.nodes()).isEmpty();
  }

  @Test
  void sliceOfNoSingleNode_isIgnored() {
    nodes.sliceSeen("shared", "", DRIVER);
    assertThat(nodes.slices()).isZero();
  }

  @Test
  void answersAreKnown_onceTheListsThatMatterAreRead() {
    assertThat(nodes.isKnown()).isFalse();
    nodes.classesListed();
    assertThat(nodes.isKnown()).isTrue();
    nodes.classSeen("gpu", GPU, NVIDIAS);
    assertThat(nodes.isKnown()).isFalse();
    nodes.slicesListed();
    assertThat(nodes.isKnown()).isTrue();
  }

  @Test
  void slicesBeyondTheBound_areNotKept() {
    for (int i = 0; i <= DraNodes.SLICES_MAX; i++) {
      nodes.sliceSeen("s" + i, "n" + i, DRIVER);
    }
    assertThat(nodes.slices()).isEqualTo(DraNodes.SLICES_MAX);
    nodes.sliceGone("s0");
    nodes.sliceSeen("last", "last", DRIVER);
    assertThat(nodes.nodes()).contains("last");
  }
}
