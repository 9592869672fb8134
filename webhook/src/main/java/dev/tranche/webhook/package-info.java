/** See the module's description. */
@NullMarked
package dev.tranche.webhook;

import org.jspecify.annotations.NullMarked;
