/** The nodes' streams: reports in, directives out. */
@NullMarked
package dev.tranche.extender.stream;

import org.jspecify.annotations.NullMarked;
