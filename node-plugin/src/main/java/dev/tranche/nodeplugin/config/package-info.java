/** NVIDIA's config file, flags and environment, and our own settings beside them. */
@NullMarked
package dev.tranche.nodeplugin.config;

import org.jspecify.annotations.NullMarked;
