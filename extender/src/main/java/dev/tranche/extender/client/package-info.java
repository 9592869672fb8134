/** The client of the API server. */
@NullMarked
package dev.tranche.extender.client;

import org.jspecify.annotations.NullMarked;
