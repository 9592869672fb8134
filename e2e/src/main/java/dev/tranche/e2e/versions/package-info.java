/** The scenarios that run on every Kubernetes version, and the page of their results. */
@NullMarked
package dev.tranche.e2e.versions;

import org.jspecify.annotations.NullMarked;
