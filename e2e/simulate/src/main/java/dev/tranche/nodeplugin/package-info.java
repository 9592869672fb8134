/** What the simulator needs of the node plugin. */
@NullMarked
package dev.tranche.nodeplugin;

import org.jspecify.annotations.NullMarked;
