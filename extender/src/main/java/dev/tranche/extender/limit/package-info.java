/** Limits of what is done on one node's account. */
@NullMarked
package dev.tranche.extender.limit;

import org.jspecify.annotations.NullMarked;
