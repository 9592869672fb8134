package dev.tranche.extender.history;

/**
 * A GPU at one moment.
 *
 * @param sm mean SM load from 0 to 1; NaN without a fresh reading
 * @param memoryUsedBytes memory in use; -1 without a fresh reading
 * @param granted share that pods hold, from 0 to 1
 */
public record GpuSample(
    String node, String uuid, int index, double sm, long memoryUsedBytes, double granted) {}
