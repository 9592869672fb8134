package dev.tranche.extender.controller;

import io.vertx.core.Future;

/** Writes to a Node; the result is completed on the Ledger's loop. */
@FunctionalInterface
public interface NodePatcher {
  Future<?> patch(String node, String patch);
}
