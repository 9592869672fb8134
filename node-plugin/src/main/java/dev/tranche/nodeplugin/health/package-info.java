/** Decides when a GPU is unhealthy and takes no new pods, and when it is healthy again. */
@NullMarked
package dev.tranche.nodeplugin.health;

import org.jspecify.annotations.NullMarked;
