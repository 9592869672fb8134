/**
 * The one writer of what is known, and what follows from it: pods that wait, are nominated or are
 * looked up.
 */
@NullMarked
package dev.tranche.extender.state;

import org.jspecify.annotations.NullMarked;
