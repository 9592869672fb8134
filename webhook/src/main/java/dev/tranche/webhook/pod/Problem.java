package dev.tranche.webhook.pod;

/**
 * Why a pod is denied.
 *
 * @param denial the reason, by which metrics count
 * @param sentence the message for the pod's owner
 */
public record Problem(Denial denial, String sentence) {}
