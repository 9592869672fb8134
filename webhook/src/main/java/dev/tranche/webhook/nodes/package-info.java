/** The GPU nodes that a pod can land on, by their labels. */
@NullMarked
package dev.tranche.webhook.nodes;

import org.jspecify.annotations.NullMarked;
