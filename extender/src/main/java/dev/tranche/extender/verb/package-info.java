/** The verbs that kube-scheduler calls: filter, prioritize, bind and preempt. */
@NullMarked
package dev.tranche.extender.verb;

import org.jspecify.annotations.NullMarked;
