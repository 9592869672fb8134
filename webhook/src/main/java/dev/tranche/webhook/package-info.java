/**
 * The admission webhook, which turns a pod's fractions of a GPU into replicas. {@link
 * dev.tranche.webhook.mutate.PodMutator} decides, and {@link
 * dev.tranche.webhook.review.AdmissionServer} receives the reviews.
 */
@NullMarked
package dev.tranche.webhook;

import org.jspecify.annotations.NullMarked;
