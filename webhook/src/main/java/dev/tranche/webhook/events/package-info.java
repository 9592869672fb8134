/** What the guard found, as events and log lines. */
@NullMarked
package dev.tranche.webhook.events;

import org.jspecify.annotations.NullMarked;
