/** What both a real kube-scheduler and the model of it run, so that the two can be compared. */
@NullMarked
package dev.tranche.simulate.script;

import org.jspecify.annotations.NullMarked;
