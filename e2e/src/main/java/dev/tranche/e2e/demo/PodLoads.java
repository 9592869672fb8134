package dev.tranche.e2e.demo;

import dev.tranche.api.Names;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Map;

/** Makes the demo's pods use the GPUs that they were granted, as far as NVML reports it. */
final class PodLoads {
  /** Shows what a grant looks like that nobody uses. */
  private static final String IDLE = "legacy";

  /** A pod's SM load, as a part of its share. */
  private static final double SM_PART = 0.6;

  /** A pod's memory in use, as a part of its grant. */
  private static final double MEMORY_PART = 0.5;

  private PodLoads() {}

  static void start(Tranche tranche, List<Pod> pods) {
    for (Pod pod : pods) {
      if (!pod.getMetadata().getName().equals(IDLE)) {
        start(tranche, pod);
      }
    }
  }

  private static void start(Tranche tranche, Pod pod) {
    Map<String, String> annotations = pod.getMetadata().getAnnotations();
    NodeGpus gpus = tranche.gpus(pod.getSpec().getNodeName());
    String[] uuids = annotations.getOrDefault(Names.GPU, "").split(",");
    String[] grants = annotations.getOrDefault(Names.GRANTED_MEMORY, "").split(",");
    int pid = PodProcesses.onNode(tranche.cluster(), pod);
    for (int i = 0; i < uuids.length; i++) {
      int index = gpus.index(uuids[i]);
      double grantedMib = mib(grants[i]);
      int smPercent = (int) Math.round(100 * SM_PART * grantedMib / gpus.usableMib(index));
      gpus.process(index, pid, (int) (MEMORY_PART * grantedMib), smPercent);
    }
  }

  private static double mib(String memory) {
    return Quantity.getAmountInBytes(new Quantity(memory)).doubleValue() / (1 << 20);
  }
}
