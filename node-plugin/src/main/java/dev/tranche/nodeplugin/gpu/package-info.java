/** The GPUs of this node and the replicas made of them; only one thread calls NVML. */
@NullMarked
package dev.tranche.nodeplugin.gpu;

import org.jspecify.annotations.NullMarked;
