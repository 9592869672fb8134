/** Memory limits of containers, which NVIDIA's hook sets and the driver tells. */
@NullMarked
package dev.tranche.nodeplugin.limit;

import org.jspecify.annotations.NullMarked;
