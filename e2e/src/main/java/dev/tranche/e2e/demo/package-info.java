/** {@code ./demo}: the main job in front of one's eyes. */
@NullMarked
package dev.tranche.e2e.demo;

import org.jspecify.annotations.NullMarked;
