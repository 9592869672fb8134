/** The client of the API server. */
@NullMarked
package dev.tranche.process.client;

import org.jspecify.annotations.NullMarked;
