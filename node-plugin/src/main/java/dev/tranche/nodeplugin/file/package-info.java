/** Files that are replaced as a whole. */
@NullMarked
package dev.tranche.nodeplugin.file;

import org.jspecify.annotations.NullMarked;
