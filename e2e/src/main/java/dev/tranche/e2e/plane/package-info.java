/** A cluster's control plane without machines. */
@NullMarked
package dev.tranche.e2e.plane;

import org.jspecify.annotations.NullMarked;
