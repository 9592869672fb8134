/** Sharing by CUDA MPS: the control daemons of a node, and the settings of their clients. */
@NullMarked
package dev.tranche.nodeplugin.mps;

import org.jspecify.annotations.NullMarked;
