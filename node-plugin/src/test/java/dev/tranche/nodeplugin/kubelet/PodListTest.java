package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PodListTest {
  private static PodResources pod(String namespace, String name, String... containers) {
    var pod = PodResources.newBuilder().setNamespace(namespace).setName(name);
    for (String container : containers) {
      pod.addContainers(
          ContainerResources.newBuilder()
              .setName(container)
              .addDevices(
                  ContainerDevices.newBuilder()
                      .setResourceName("nvidia.com/gpu")
                      .addDeviceIds("GPU-0::" + container)));
    }
    return pod.build();
  }

  private static List<Holding> holdings(PodResources... pods) {
    var list = ListPodResourcesResponse.newBuilder().addAllPodResources(List.of(pods)).build();
    return new PodList(list).holdings(device -> true);
  }

  @Test
  void holdings_areTheSame_howeverTheKubeletOrdersItsPods() {
    PodResources a = pod("ns-1", "b", "z", "y");
    PodResources b = pod("ns-2", "a", "main");
    PodResources c = pod("ns-2", "b", "main");
    assertThat(holdings(c, a, b)).isEqualTo(holdings(b, c, a)).isEqualTo(holdings(a, b, c));
    assertThat(holdings(c, b, a))
        .extracting(Holding::getContainer)
        .containsExactly("z", "y", "main", "main");
  }

  /** kubernetes/kubernetes#137534: the extender finds it in the report, which must say both. */
  @Test
  void replicaThatTheKubeletGaveToTwoPods_isReportedForBoth() {
    assertThat(holdings(pod("ns", "a", "main"), pod("ns", "b", "main")))
        .extracting(held -> held.getPod() + " " + held.getDeviceIdsList())
        .containsExactly("a [GPU-0::main]", "b [GPU-0::main]");
  }

  private static boolean complete(PodResources... pods) {
    return new PodList(
            ListPodResourcesResponse.newBuilder().addAllPodResources(List.of(pods)).build())
        .complete("node-1");
  }

  @Test
  void listOfAKubeletWithoutItsApiServer_isNotComplete() {
    PodResources fixed = pod("kube-system", "kube-proxy-node-1");
    assertThat(complete()).isFalse();
    assertThat(complete(fixed)).isFalse();
    assertThat(complete(fixed, pod("tranche", "tranche-node-plugin-x7k2p"))).isTrue();
  }
}
