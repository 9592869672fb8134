/** The stream of changes, and its readers. */
@NullMarked
package dev.tranche.extender.readapi.stream;

import org.jspecify.annotations.NullMarked;
