/** What every process of Tranche is made of. */
@NullMarked
package dev.tranche.process;

import org.jspecify.annotations.NullMarked;
