/** The CDI specs that tell a container runtime what a GPU is made of. */
@NullMarked
package dev.tranche.nodeplugin.cdi;

import org.jspecify.annotations.NullMarked;
