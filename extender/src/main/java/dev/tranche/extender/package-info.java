/** See the module's description. */
@NullMarked
package dev.tranche.extender;

import org.jspecify.annotations.NullMarked;
