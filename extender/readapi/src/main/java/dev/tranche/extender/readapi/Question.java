package dev.tranche.extender.readapi;

import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;

/**
 * What an admitted request asks.
 *
 * @param body empty unless the request is a POST
 * @param forKubectl whether the answer is a Table of Kubernetes, as {@code kubectl get} shows it
 */
record Question(Route route, MultiMap parameters, Buffer body, boolean forKubectl) {
  Question with(MultiMap others) {
    return new Question(route, others, body, forKubectl);
  }
}
