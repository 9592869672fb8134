/** Connects the parts that decide. */
@NullMarked
package dev.tranche.extender.core;

import org.jspecify.annotations.NullMarked;
