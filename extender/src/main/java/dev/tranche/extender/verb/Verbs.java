package dev.tranche.extender.verb;

/** What kube-scheduler asks of the extender. */
public record Verbs(Filter filter, Prioritize prioritize, Bind bind, Preempt preempt) {}
