/** Access to the read API: the API server reviews tokens and rights. */
@NullMarked
package dev.tranche.extender.readapi.access;

import org.jspecify.annotations.NullMarked;
