/** The read API: what the extender knows, for people, pages and dashboards. */
@NullMarked
package dev.tranche.extender.readapi;

import org.jspecify.annotations.NullMarked;
