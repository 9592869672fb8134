package dev.tranche.simulate.script;

import java.util.List;

/** A cluster without kubelets, in which a kube-scheduler or the model of one places pods. */
public interface SchedulingStage {
  /** What answers the scheduler. */
  ScriptedExtender extender();

  /** Adds a node. */
  void node(String name, int replicas);

  /** The kubelet counts another number of replicas as healthy. */
  void replicas(String node, int replicas);

  /** Changes an annotation of a node, as the extender does to wake pods. */
  void annotate(String node);

  void remove(String node);

  void pod(String name, int replicas, int priority);

  default void pod(String name, int replicas) {
    pod(name, replicas, 0);
  }

  /** Deletes a pod with its grace period. A bound one terminates until {@link #gone}. */
  void delete(String pod);

  /** The pod has ended after its deletion, and is removed. */
  void gone(String pod);

  /** The pod has ended by itself. */
  void succeed(String pod);

  void restartScheduler();

  /** Lets this time pass, and then adds the state of each pod to the recording. */
  void pass(int seconds);

  /** Returns what has happened so far. */
  List<String> recording();
}
