package dev.tranche.extender.controller;

import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.Future;
import java.util.Optional;

/**
 * What controllers ask of the API server. Nothing here blocks, and all queues are bounded. Futures
 * complete on the loop, and fail with the API server's refusal.
 */
public interface ApiWrites {
  /** Such as a merge patch with a resource version, or a JSON patch with a test. */
  Future<?> patchNode(String node, PatchType type, String patch);

  Future<?> event(Event event);

  /** Creates an event about a pod that waits: tenants determine how many of these there are. */
  Future<?> podEvent(Event event);

  /** References a ConfigMap for events about it; empty if there is none of that name. */
  Future<Optional<ObjectReference>> configMap(String namespace, String name);
}
