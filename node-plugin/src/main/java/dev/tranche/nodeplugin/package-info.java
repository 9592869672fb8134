/** See the module's description. */
@NullMarked
package dev.tranche.nodeplugin;

import org.jspecify.annotations.NullMarked;
