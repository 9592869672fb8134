package dev.tranche.webhook.guard;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The guard's part of the configuration.
 *
 * @param mode the mode of namespaces that name no other
 * @param assumeDefaultRuntime whether the nvidia runtime may run pods that name no RuntimeClass
 * @param exemptServiceAccounts {@code namespace:name}; their pods are left alone
 * @param resources extended resources that give containers GPUs, besides those of NVIDIA's plugin
 * @param kubeletRoot the kubelet's root folder, which contains its sockets
 * @param cdiAnnotationPrefixes prefixes of annotations that request CDI devices from a runtime;
 *     those of {@link GpuAccessPath} are always among them
 */
public record GuardRules(
    GuardMode mode,
    boolean assumeDefaultRuntime,
    Set<String> exemptServiceAccounts,
    List<String> resources,
    String kubeletRoot,
    List<String> cdiAnnotationPrefixes) {
  public GuardRules {
    cdiAnnotationPrefixes =
        Stream.concat(GpuAccessPath.CDI_PREFIXES.stream(), cdiAnnotationPrefixes.stream())
            .distinct()
            .toList();
  }
}
