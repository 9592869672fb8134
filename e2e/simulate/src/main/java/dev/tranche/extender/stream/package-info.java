/** What the simulator needs of the node streams. */
@NullMarked
package dev.tranche.extender.stream;

import org.jspecify.annotations.NullMarked;
