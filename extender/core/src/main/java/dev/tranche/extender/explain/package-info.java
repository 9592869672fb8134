/** Why pods are where they are, or why they wait, for people and Prometheus. */
@NullMarked
package dev.tranche.extender.explain;

import org.jspecify.annotations.NullMarked;
