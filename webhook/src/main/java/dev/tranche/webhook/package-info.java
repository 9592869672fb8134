/**
 * Admission: a pod that says its share of a GPU in fractions goes on saying it in replicas. {@link
 * dev.tranche.webhook.mutate.PodMutator} decides, {@link
 * dev.tranche.webhook.review.AdmissionVerticle} listens.
 */
@NullMarked
package dev.tranche.webhook;

import org.jspecify.annotations.NullMarked;
