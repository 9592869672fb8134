/** The parameters and pages of the read API's requests, and the problems with them. */
@NullMarked
package dev.tranche.extender.readapi.query;

import org.jspecify.annotations.NullMarked;
