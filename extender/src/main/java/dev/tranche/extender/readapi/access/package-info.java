/** Who may read: tokens and rights, as the API server reviews them. */
@NullMarked
package dev.tranche.extender.readapi.access;

import org.jspecify.annotations.NullMarked;
