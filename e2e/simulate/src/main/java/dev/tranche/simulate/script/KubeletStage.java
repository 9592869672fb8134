package dev.tranche.simulate.script;

import java.util.List;

/**
 * A node with a kubelet or the model of one, and with a device plugin that a script decides about.
 */
public interface KubeletStage {
  ScriptedPlugin plugin();

  /** The plugin starts, and registers with the kubelet. */
  void startPlugin();

  /** The plugin ends. */
  void stopPlugin();

  /** A device is healthy or not from now on. */
  void healthy(String device, boolean now);

  /** Creates a pod on this node that requests devices, and runs until it is deleted. */
  default void pod(String name, int devices) {
    pod(name, devices, 0);
  }

  /**
   * @param runsSeconds until it ends by itself; 0: never
   */
  void pod(String name, int devices, int runsSeconds);

  /** Deletes a pod, whose container ends only after its grace period of 4 s. */
  void delete(String pod);

  void restartKubelet();

  /** Lets this time pass, and then adds the state of the node and of each pod to the recording. */
  void pass(int seconds);

  /** Returns what has happened so far. */
  List<String> recording();
}
