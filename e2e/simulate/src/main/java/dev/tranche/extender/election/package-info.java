/** What the simulator needs of the leader election. */
@NullMarked
package dev.tranche.extender.election;

import org.jspecify.annotations.NullMarked;
