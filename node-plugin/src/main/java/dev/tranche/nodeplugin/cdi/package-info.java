/** The CDI specs from which a container runtime learns what a GPU consists of. */
@NullMarked
package dev.tranche.nodeplugin.cdi;

import org.jspecify.annotations.NullMarked;
