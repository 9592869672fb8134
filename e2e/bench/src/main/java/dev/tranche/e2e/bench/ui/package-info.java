/** The web page of a running extender, measured in a browser. */
@NullMarked
package dev.tranche.e2e.bench.ui;

import org.jspecify.annotations.NullMarked;
