/** What a stock kube-scheduler sends to an extender. */
@NullMarked
package dev.tranche.e2e.record;

import org.jspecify.annotations.NullMarked;
