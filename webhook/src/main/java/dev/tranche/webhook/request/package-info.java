/** What a pod asks of GPUs, by its annotations; pure. */
@NullMarked
package dev.tranche.webhook.request;

import org.jspecify.annotations.NullMarked;
