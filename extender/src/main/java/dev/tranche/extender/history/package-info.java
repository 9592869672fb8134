/** What GPUs did in the last hours, in a bounded piece of memory. Pure: time is a parameter. */
@NullMarked
package dev.tranche.extender.history;

import org.jspecify.annotations.NullMarked;
