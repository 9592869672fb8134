/** The log: one line for each record. */
@NullMarked
package dev.tranche.process.log;

import org.jspecify.annotations.NullMarked;
