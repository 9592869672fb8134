/** Sharing by CUDA MPS: the control daemons of a node, and what their clients are told. */
@NullMarked
package dev.tranche.nodeplugin.mps;

import org.jspecify.annotations.NullMarked;
