package dev.tranche.e2e.demo;

import dev.tranche.api.Names;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Arrays;
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
    List<String> held = Arrays.asList(annotations.getOrDefault(Names.GPU, "").split(","));
    double share = Double.parseDouble(annotations.getOrDefault(Names.GRANTED_FRACTION, "1"));
    int smPercent = (int) Math.round(100 * SM_PART * share);
    int usedMib = (int) (MEMORY_PART * grantedMib(annotations));
    int pid = PodProcesses.of(tranche.cluster(), pod);
    for (int index = 0; index < gpus.count(); index++) {
      if (held.contains(gpus.uuid(index))) {
        gpus.process(index, pid, usedMib, smPercent);
        gpus.addLoad(index, smPercent, usedMib);
      }
    }
  }

  private static double grantedMib(Map<String, String> annotations) {
    var memory = new Quantity(annotations.getOrDefault(Names.GRANTED_MEMORY, "0"));
    return Quantity.getAmountInBytes(memory).doubleValue() / (1 << 20);
  }
}
