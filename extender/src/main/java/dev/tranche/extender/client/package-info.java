/** Runs calls to the API server off the event loops, and limits those that a node causes. */
@NullMarked
package dev.tranche.extender.client;

import org.jspecify.annotations.NullMarked;
