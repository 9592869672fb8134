/** A cluster under virtual time, in which the extender and the node plugin run. */
@NullMarked
package dev.tranche.simulate;

import org.jspecify.annotations.NullMarked;
