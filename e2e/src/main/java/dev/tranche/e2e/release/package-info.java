/** What {@code ./release} makes of the built parts: image layouts, bills of materials, notes. */
@NullMarked
package dev.tranche.e2e.release;

import org.jspecify.annotations.NullMarked;
