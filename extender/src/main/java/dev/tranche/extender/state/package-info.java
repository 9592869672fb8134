/**
 * The only writer of the extender's state, and the pods that wait, are nominated or are looked up.
 */
@NullMarked
package dev.tranche.extender.state;

import org.jspecify.annotations.NullMarked;
