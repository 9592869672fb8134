package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.webhook.guard.Candidate.Container;

/**
 * Mounts that name GPUs: the device plugin's strategy volume-mounts puts one per GPU in this
 * folder, and the runtime believes whoever made it. They beat the variable.
 */
final class DeviceListMounts {
  private static final String FOLDER = "/run/nvidia-container-devices";

  private DeviceListMounts() {}

  static void sweep(Container container, Sweep sweep) {
    ArrayNode kept = JsonNodeFactory.instance.arrayNode();
    boolean close = false;
    for (JsonNode mount : container.spec().path("volumeMounts")) {
      String path = HostPaths.plain(mount.path("mountPath").asText(""));
      if (HostPaths.at(path, "/var" + FOLDER) || HostPaths.at(path, FOLDER)) {
        close |=
            sweep.take(
                Finding.DEVICE_LIST_MOUNT,
                "container \"%s\" mounts %s, which names a GPU to the runtime"
                    .formatted(container.shown(), Sweep.cut(path)));
      } else {
        kept.add(mount);
      }
    }
    if (close) {
      sweep.put(kept, "spec", container.list(), String.valueOf(container.index()), "volumeMounts");
    }
  }
}
