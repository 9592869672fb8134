/** The HTTP servers of the scheduler's verbs, and of metrics and health. */
@NullMarked
package dev.tranche.extender.http;

import org.jspecify.annotations.NullMarked;
