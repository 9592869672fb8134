/** Which GPUs of one node could take a pod; pure. */
@NullMarked
package dev.tranche.extender.placement;

import org.jspecify.annotations.NullMarked;
