/** How the API writes its records as JSON. */
@NullMarked
package dev.tranche.extender.readapi.json;

import org.jspecify.annotations.NullMarked;
