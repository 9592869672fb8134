/**
 * Load, memory and grants of GPUs over the last hours, in bounded memory. Pure: time is a
 * parameter.
 */
@NullMarked
package dev.tranche.extender.history;

import org.jspecify.annotations.NullMarked;
