/** How busy a GPU is. */
@NullMarked
package dev.tranche.nodeplugin.load;

import org.jspecify.annotations.NullMarked;
