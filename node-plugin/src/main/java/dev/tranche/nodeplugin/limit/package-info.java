/** Whether NVIDIA's hook can limit the memory of a container on this node's GPUs. */
@NullMarked
package dev.tranche.nodeplugin.limit;

import org.jspecify.annotations.NullMarked;
