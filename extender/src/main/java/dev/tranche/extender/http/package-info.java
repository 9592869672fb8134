/** The scheduler's verbs and the operator's pages, over HTTP. */
@NullMarked
package dev.tranche.extender.http;

import org.jspecify.annotations.NullMarked;
