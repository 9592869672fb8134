/** Other systems' annotations and resources, read as ours. */
@NullMarked
package dev.tranche.webhook.compat;

import org.jspecify.annotations.NullMarked;
