/**
 * The system's own certificates: one authority, and a serving certificate each for webhook and
 * extender, kept in Secrets from which every replica reads the same.
 */
@NullMarked
package dev.tranche.webhook.tls;

import org.jspecify.annotations.NullMarked;
