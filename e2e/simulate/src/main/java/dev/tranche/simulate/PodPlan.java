package dev.tranche.simulate;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import java.util.List;

/**
 * A pod that a scenario creates.
 *
 * @param number from 0, in the order of creation
 * @param name several pods may have it, one after the other, as of a StatefulSet
 * @param requests of its containers, in the order of their admission
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
    List<Demand.Request> requests,
    int replicasPerGpu,
    int priority,
    long runMs,
    long deletedAfterMs,
    boolean force,
    long graceMs) {
  PodPlan {
    requests = List.copyOf(requests);
  }

  /** The most replicas that it holds at one moment, as kube-scheduler and kubelet count them. */
  int replicas() {
    return (int) Demand.peakReplicas(requests);
  }

  /** Returns the model of GPU that it requires; empty if any will do. */
  String model() {
    return number % 10 == 3 ? "H200" : "";
  }

  boolean hasInitContainer() {
    return requests.stream().anyMatch(request -> request.kind() == Kind.INIT);
  }

  String uid() {
    return "u" + number;
  }
}
