package dev.tranche.e2e.install;

import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.ContainerStatusBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;

/** The statuses of a pod's containers, for comparison with earlier ones. */
public final class ContainerStatuses {
  private ContainerStatuses() {}

  /**
   * Returns the statuses without the health of devices. Since 1.36 the kubelet lists the devices of
   * an unchanged container in another order each time.
   *
   * @see <a href="https://github.com/kubernetes/kubernetes/issues/142293">kubernetes#142293</a>
   */
  public static List<ContainerStatus> withoutHealth(Pod pod) {
    return pod.getStatus().getContainerStatuses().stream()
        .map(it -> new ContainerStatusBuilder(it).withAllocatedResourcesStatus(List.of()).build())
        .toList();
  }
}
