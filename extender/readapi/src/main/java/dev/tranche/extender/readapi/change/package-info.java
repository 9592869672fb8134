/** What the web page follows: the rows, and what changes of them. */
@NullMarked
package dev.tranche.extender.readapi.change;

import org.jspecify.annotations.NullMarked;
