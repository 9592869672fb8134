/** What two processes of Tranche must agree on, and nothing else. */
@NullMarked
package dev.tranche.api;

import org.jspecify.annotations.NullMarked;
