/** What the simulator needs of the answers to the kubelet. */
@NullMarked
package dev.tranche.nodeplugin.kubelet;

import org.jspecify.annotations.NullMarked;
