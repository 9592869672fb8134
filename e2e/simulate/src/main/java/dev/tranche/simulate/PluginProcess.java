package dev.tranche.simulate;

import dev.tranche.nodeplugin.SimulatedPlugin;
import java.util.List;
import java.util.SplittableRandom;

/** A device plugin as a kubelet sees it. */
abstract class PluginProcess extends SimulatedProcess {
  PluginProcess(String name, EventQueue queue, SplittableRandom random) {
    super(name, queue, random);
  }

  /** Answers GetPreferredAllocation. */
  abstract List<String> prefer(
      String resource, List<String> available, List<String> mustInclude, int size);

  /** Answers Allocate. */
  abstract SimulatedPlugin.Allocated allocate(String resource, List<String> ids);

  /** How long it takes to answer Allocate. */
  long allocateMs() {
    return 0;
  }

  /** The kubelet has restarted and knows nothing of this plugin. */
  abstract void dropped();
}
