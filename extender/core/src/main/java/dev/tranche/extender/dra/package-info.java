/** Nodes whose GPUs are served by Dynamic Resource Allocation instead of a device plugin. */
@NullMarked
package dev.tranche.extender.dra;

import org.jspecify.annotations.NullMarked;
