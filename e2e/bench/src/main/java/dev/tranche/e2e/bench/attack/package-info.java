/** Attacks on a cluster with the shipped options, and how honest pods fare meanwhile. */
@NullMarked
package dev.tranche.e2e.bench.attack;

import org.jspecify.annotations.NullMarked;
