/** Turns fractions into replicas. Pure: no sockets, no Kubernetes client. */
@NullMarked
package dev.tranche.webhook.mutate;

import org.jspecify.annotations.NullMarked;
