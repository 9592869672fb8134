/** The GPUs of this node and the replicas made of them; one thread talks to NVML. */
@NullMarked
package dev.tranche.nodeplugin.gpu;

import org.jspecify.annotations.NullMarked;
