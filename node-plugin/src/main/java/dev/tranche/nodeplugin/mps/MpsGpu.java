package dev.tranche.nodeplugin.mps;

/**
 * One GPU that is shared by MPS.
 *
 * @param memoryBytes its whole memory, as NVIDIA's plugin divides it; 0: unknown
 * @param replicas R, at least 1
 */
record MpsGpu(String uuid, long memoryBytes, int replicas) {}
