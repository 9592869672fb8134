/** Translates other systems' annotations and resources into ours. */
@NullMarked
package dev.tranche.webhook.compat;

import org.jspecify.annotations.NullMarked;
