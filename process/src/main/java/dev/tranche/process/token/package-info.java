/** Bearer tokens that peers present. */
@NullMarked
package dev.tranche.process.token;

import org.jspecify.annotations.NullMarked;
