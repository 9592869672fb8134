/** What a process counts and measures for Prometheus. */
@NullMarked
package dev.tranche.process.meters;

import org.jspecify.annotations.NullMarked;
