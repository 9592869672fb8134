package dev.tranche.nodeplugin.config;

/**
 * When memory beyond the grant is overuse, and what follows from it.
 *
 * @param tolerance part of the grant that may be used beyond it: 0.05
 * @param samples number of samples in a row before overuse begins, and before it ends
 * @param cordon whether the GPU takes no new pods meanwhile
 */
public record OveruseOptions(double tolerance, int samples, boolean cordon) {}
