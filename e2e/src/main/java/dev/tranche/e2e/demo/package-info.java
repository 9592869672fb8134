/** {@code ./demo}: shows how Tranche places pods. */
@NullMarked
package dev.tranche.e2e.demo;

import org.jspecify.annotations.NullMarked;
