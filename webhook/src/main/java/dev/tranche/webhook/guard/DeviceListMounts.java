package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;

/**
 * Mounts that name GPUs: the device plugin's strategy volume-mounts puts one per GPU in this
 * folder, and the runtime believes whoever made it. They beat the variable.
 */
final class DeviceListMounts {
  private static final String FOLDER = "/run/nvidia-container-devices";

  private DeviceListMounts() {}

  static void scan(Container container, GuardScan scan) {
    var closed = new ArrayList<Integer>();
    int index = 0;
    for (JsonNode mount : container.spec().path("volumeMounts")) {
      String path = HostPaths.plain(mount.path("mountPath").asText(""));
      boolean names = HostPaths.at(path, "/var" + FOLDER) || HostPaths.at(path, FOLDER);
      if (names
          && scan.take(
              Finding.DEVICE_LIST_MOUNT,
              "container \"%s\" mounts %s, which names a GPU to the runtime",
              container.name(),
              path)) {
        closed.add(index);
      }
      index++;
    }
    scan.removeAll(closed, container.path("volumeMounts"));
  }
}
