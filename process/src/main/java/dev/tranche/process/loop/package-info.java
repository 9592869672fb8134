/** An event loop that owns state, and how busy it is. */
@NullMarked
package dev.tranche.process.loop;

import org.jspecify.annotations.NullMarked;
