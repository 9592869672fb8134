/** Leader election on a Lease. */
@NullMarked
package dev.tranche.extender.election;

import org.jspecify.annotations.NullMarked;
