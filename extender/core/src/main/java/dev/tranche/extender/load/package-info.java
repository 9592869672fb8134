/** The last readings of GPUs, and what is learnt from them; pure. */
@NullMarked
package dev.tranche.extender.load;

import org.jspecify.annotations.NullMarked;
