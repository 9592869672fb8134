package dev.tranche.e2e.cluster;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the container runtime {@code nvidia} would have given to one container.
 *
 * @param requested the container's {@code NVIDIA_VISIBLE_DEVICES}, null where it has none
 * @param driver whether the driver's libraries would be injected
 * @param uuids of the GPUs, in the order of the request
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record Injection(
    String containerId,
    String podNamespace,
    String podName,
    String podUid,
    String containerName,
    @Nullable String requested,
    boolean driver,
    List<String> uuids) {}
