/** What every listening port of ours limits, whatever it speaks. */
@NullMarked
package dev.tranche.api.listen;

import org.jspecify.annotations.NullMarked;
