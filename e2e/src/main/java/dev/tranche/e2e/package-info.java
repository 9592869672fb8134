/** See the module's description. */
@NullMarked
package dev.tranche.e2e;

import org.jspecify.annotations.NullMarked;
