/** Carries the Kubernetes client's calls over Vert.x. */
@NullMarked
package dev.tranche.extender.cluster.transport;

import org.jspecify.annotations.NullMarked;
