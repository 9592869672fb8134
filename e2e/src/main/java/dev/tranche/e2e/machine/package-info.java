/** The demo on the GPUs of one machine, without Docker and without a network. */
@NullMarked
package dev.tranche.e2e.machine;

import org.jspecify.annotations.NullMarked;
