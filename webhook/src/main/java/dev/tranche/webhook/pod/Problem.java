package dev.tranche.webhook.pod;

/**
 * Why a pod is refused.
 *
 * @param denial which of the reasons; metrics count by it
 * @param sentence for the pod's owner
 */
public record Problem(Denial denial, String sentence) {}
