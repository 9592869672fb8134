package dev.tranche.simulate;

/**
 * A pod that a scenario creates.
 *
 * @param number from 0, in the order of creation
 * @param name several pods may have it, one after the other, as of a StatefulSet
 * @param replicas that it requests
 * @param replicasPerGpu R that the webhook sized it for; 0: a plain request
 * @param runMs from its start until it ends by itself
 * @param deletedAfterMs from its creation; 0: never
 * @param force whether the API server forgets it at once when it is deleted
 * @param graceMs how long its containers take to end when it is deleted
 */
record PodPlan(
    int number,
    long createdMs,
    String name,
    int replicas,
    int replicasPerGpu,
    int priority,
    long runMs,
    long deletedAfterMs,
    boolean force,
    long graceMs) {
  String uid() {
    return "u" + number;
  }
}
