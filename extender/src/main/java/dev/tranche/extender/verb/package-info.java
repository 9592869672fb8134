/** What kube-scheduler asks: filter, prioritize, bind, preempt. */
@NullMarked
package dev.tranche.extender.verb;

import org.jspecify.annotations.NullMarked;
