/** Limits that every listening port of ours has, whatever its protocol. */
@NullMarked
package dev.tranche.process.listen;

import org.jspecify.annotations.NullMarked;
