package dev.tranche.nodeplugin;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test of the whole plugin, which is started anew for each method. */
abstract class WithPlugin {
  @TempDir Path folder;

  @AutoClose("stop")
  PluginRig rig;

  FakeNvml nvml;
  FakeKubelet kubelet;
  FakeExtender first;

  @BeforeEach
  void start() throws Exception {
    rig = new PluginRig(folder);
    rig.start();
    nvml = rig.nvml;
    kubelet = rig.kubelet;
    first = rig.first;
  }

  String scrape() {
    return rig.plugin.metrics().scrape();
  }

  /** Of the events that the extender has been told. */
  List<String> reasons() {
    return first.last().getEventsList().stream().map(event -> event.getReason()).toList();
  }
}
