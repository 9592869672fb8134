/** A browser that reads the web page. */
@NullMarked
package dev.tranche.e2e.browser;

import org.jspecify.annotations.NullMarked;
