/**
 * Which container uses how much of a GPU, by its processes; and whether that is more than its
 * share.
 */
@NullMarked
package dev.tranche.nodeplugin.usage;

import org.jspecify.annotations.NullMarked;
