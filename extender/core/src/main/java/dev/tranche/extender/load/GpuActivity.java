package dev.tranche.extender.load;

/**
 * How much of a GPU's hardware worked, as NVML's GPU performance monitoring (GPM) says, 0 to 1. A
 * single value that it does not tell is NaN.
 *
 * @param sm part of the SMs that were busy
 * @param smOccupancy active warps of all that the SMs can have
 * @param tensor part of the time in which tensor cores worked
 * @param dram part of the memory bandwidth that was used
 */
public record GpuActivity(float sm, float smOccupancy, float tensor, float dram) {}
