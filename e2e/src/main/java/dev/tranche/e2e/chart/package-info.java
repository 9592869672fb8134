/** The Helm chart, and the plain YAML that is rendered from it. */
@NullMarked
package dev.tranche.e2e.chart;

import org.jspecify.annotations.NullMarked;
