/** Kubernetes: what is watched, what is written. */
@NullMarked
package dev.tranche.extender.cluster;

import org.jspecify.annotations.NullMarked;
