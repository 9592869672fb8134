/** The events that {@code kubectl describe} shows for the node and its pods. */
@NullMarked
package dev.tranche.nodeplugin.events;

import org.jspecify.annotations.NullMarked;
