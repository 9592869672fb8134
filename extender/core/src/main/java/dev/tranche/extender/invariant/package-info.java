/** What must hold in every cluster, whoever looks at it. */
@NullMarked
package dev.tranche.extender.invariant;

import org.jspecify.annotations.NullMarked;
