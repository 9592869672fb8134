/** The only door to NVML. Of the other packages only that of MPS uses JNA, for calls of Linux. */
@NullMarked
package dev.tranche.nodeplugin.nvml;

import org.jspecify.annotations.NullMarked;
