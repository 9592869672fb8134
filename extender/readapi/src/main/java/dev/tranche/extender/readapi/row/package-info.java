/** The read API's rows: GPUs, pods, the cluster and a decision, as JSON. */
@NullMarked
package dev.tranche.extender.readapi.row;

import org.jspecify.annotations.NullMarked;
