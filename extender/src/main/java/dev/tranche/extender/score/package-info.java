/** Which of them is best; pure. */
@NullMarked
package dev.tranche.extender.score;

import org.jspecify.annotations.NullMarked;
