/** The Kubernetes client's HTTP transport, on Vert.x. */
@NullMarked
package dev.tranche.process.client.transport;

import org.jspecify.annotations.NullMarked;
