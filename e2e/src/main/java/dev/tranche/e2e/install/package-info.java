/** Tranche on a cluster: installed, asked, and given pods. */
@NullMarked
package dev.tranche.e2e.install;

import org.jspecify.annotations.NullMarked;
