/** What makes a GPU unfit for new pods, and fit again. */
@NullMarked
package dev.tranche.nodeplugin.health;

import org.jspecify.annotations.NullMarked;
