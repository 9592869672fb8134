/** The stream of what changes, and who reads it. */
@NullMarked
package dev.tranche.extender.readapi.stream;

import org.jspecify.annotations.NullMarked;
