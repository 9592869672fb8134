package dev.tranche.simulate;

/**
 * Something that goes wrong.
 *
 * @param target which of the processes, by its number
 * @param value for instance a number of replicas
 */
record Fault(Kind kind, long atMs, long forMs, int target, int value) {
  /** What goes wrong. */
  enum Kind {
    /** An extender's watches deliver nothing for a while. */
    STALE_VIEW,
    /** The API server is overloaded: the watches of extenders and kubelets deliver nothing. */
    ALL_VIEWS_STALE,
    /** An extender's watches end and are too old to go on: states in between are never seen. */
    UNOBSERVED_STATE,
    /** The leader is killed after it has sent an assignment, and before the Binding. */
    CRASH_BEFORE_BINDING,
    /** The leader is killed after the API server has accepted its Binding. */
    CRASH_AFTER_BINDING,
    WATCH_ENDS,
    EXTENDER_KILLED,
    EXTENDER_FROZEN,
    EXTENDER_SUSPENDED,
    CLOCK_JUMP,
    PARTITION_FROM_API,
    PARTITION_TO_API,
    PARTITION_OF_API,
    PARTITION_FROM_NODE,
    PARTITION_TO_NODE,
    PARTITION_OF_NODE,
    SLOW_API,
    /** The API server's writes succeed, and their answers are lost. */
    ANSWERS_LOST,
    OLD_ROUTE,
    PLUGIN_KILLED,
    PLUGIN_STATE_LOST,
    PLUGIN_FROZEN,
    KUBELET_KILLED,
    KUBELET_STALE,
    KUBELET_LIST_HANGS,
    GPU_LOST,
    GPU_FAULTY,
    /** A GPU has an error after a pod was bound to it, and before its kubelet admits the pod. */
    GPU_FAULTY_BEFORE_ADMISSION,
    GPU_CORDONED,
    RECUT,
    /** A machine is gone, and a new one of its name comes later. */
    NODE_REMOVED,
    SCHEDULER_KILLED,
    SCHEDULER_STALE
  }

  @Override
  public String toString() {
    return "%s of %d for %.1f s%s"
        .formatted(kind, target, forMs / 1_000.0, value == 0 ? "" : ", " + value);
  }
}
