package dev.tranche.webhook.guard;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.webhook.pod.PodView.Container;

/**
 * Finds mounts that name GPUs. With its strategy volume-mounts, the device plugin adds one mount
 * per GPU in this folder. The runtime trusts such mounts, whoever made them, and they override the
 * variable.
 */
final class DeviceListMounts {
  static final String FOLDER_NAME = "nvidia-container-devices";
  private static final String FOLDER = "/run/" + FOLDER_NAME;

  private DeviceListMounts() {}

  static void scan(Container container, GuardScan scan) {
    boolean remove = false;
    ArrayNode others = JsonNodeFactory.instance.arrayNode();
    for (JsonNode mount : container.spec().path("volumeMounts")) {
      String path = HostPaths.normalize(text(mount, "mountPath"));
      if (namesGpu(path)) {
        remove |=
            scan.recordRemovable(
                GuardFinding.DEVICE_LIST_MOUNT,
                "container \"%s\" mounts %s, which names a GPU to the runtime",
                container.name(),
                path);
      } else {
        others.add(mount);
      }
    }
    if (remove) {
      scan.replace(container, "volumeMounts", others);
    }
  }

  static boolean namesGpu(String mountPath) {
    String path = HostPaths.normalize(mountPath);
    return HostPaths.isAtOrBelow(path, "/var" + FOLDER) || HostPaths.isAtOrBelow(path, FOLDER);
  }
}
