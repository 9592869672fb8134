/**
 * Admission: a pod that says its share of a GPU in fractions goes on saying it in replicas. {@link
 * dev.tranche.webhook.PodMutator} decides, {@link dev.tranche.webhook.AdmissionVerticle} listens.
 */
@NullMarked
package dev.tranche.webhook;

import org.jspecify.annotations.NullMarked;
