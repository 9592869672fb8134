/** What the GPUs measured last; pure. */
@NullMarked
package dev.tranche.extender.load;

import org.jspecify.annotations.NullMarked;
