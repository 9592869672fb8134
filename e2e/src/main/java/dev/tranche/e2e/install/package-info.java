/** Installs Tranche on a cluster, queries it, and gives it pods. */
@NullMarked
package dev.tranche.e2e.install;

import org.jspecify.annotations.NullMarked;
