/** {@code ./verify-gpu}: what Tranche's node plugin does with the GPUs of this machine. */
@NullMarked
package dev.tranche.e2e.verify;

import org.jspecify.annotations.NullMarked;
