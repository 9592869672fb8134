/** The only door to NVML, and the only user of JNA. */
@NullMarked
package dev.tranche.nodeplugin.nvml;

import org.jspecify.annotations.NullMarked;
