/** Keeps pods from GPUs that they did not ask for. Pure: no sockets, no Kubernetes client. */
@NullMarked
package dev.tranche.webhook.guard;

import org.jspecify.annotations.NullMarked;
