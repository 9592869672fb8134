/** The Kubernetes client over Vert.x. */
@NullMarked
package dev.tranche.extender.client.transport;

import org.jspecify.annotations.NullMarked;
