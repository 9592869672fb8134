package dev.tranche.extender.invariant;

/**
 * An invariant that does not hold now.
 *
 * @param subject a GPU's uuid or a pod's uid
 * @param sentence what was seen
 */
public record Finding(Invariant invariant, String subject, String sentence) {}
