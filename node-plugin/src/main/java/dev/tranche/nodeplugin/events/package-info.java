/** What people should read in {@code kubectl describe} of the node and its pods. */
@NullMarked
package dev.tranche.nodeplugin.events;

import org.jspecify.annotations.NullMarked;
