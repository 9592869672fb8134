/** Runs calls to the API server off the event loops. */
@NullMarked
package dev.tranche.extender.client;

import org.jspecify.annotations.NullMarked;
