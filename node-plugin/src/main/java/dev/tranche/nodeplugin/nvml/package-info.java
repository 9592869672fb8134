/** The only package that calls NVML. Of the others only mps uses JNA, for Linux system calls. */
@NullMarked
package dev.tranche.nodeplugin.nvml;

import org.jspecify.annotations.NullMarked;
