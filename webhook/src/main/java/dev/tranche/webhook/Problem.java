package dev.tranche.webhook;

/**
 * Why a pod is refused.
 *
 * @param denial which of the reasons; metrics count by it
 * @param sentence for the pod's owner
 */
record Problem(Denial denial, String sentence) {}
