package dev.tranche.simulate;

/** Rare things that must happen often enough for a run to mean something. */
enum Branch {
  RECUT_WITH_HELD_IDS,
  GPU_WITH_ANOTHER_INDEX,
  GPU_LOST,
  UNKNOWN_BIND,
  LIST_AFTER_GONE,
  BIND_OF_FORMER_LEADER,
  CHANGE_OF_LEADER,
  NOMINATION,
  NOMINATION_CLEARED,
  PREEMPTION,
  LONG_WAIT,
  NAME_USED_AGAIN,
  PLUGIN_WITHOUT_STATE,
  LIST_TOO_LATE,
  REFUSED_BY_NODE,
  DRIFT,
  WAKE_UP,
  POD_CHECK
}
