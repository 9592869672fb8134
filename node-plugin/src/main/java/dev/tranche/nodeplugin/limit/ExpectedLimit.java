package dev.tranche.nodeplugin.limit;

import dev.tranche.nodeplugin.usage.ContainerName;

/**
 * The limit that a container should have on a GPU.
 *
 * @param uuid of the GPU
 * @param hardBytes {@link dev.tranche.api.LimitRequest#NONE} if its pod asked for no limit
 */
public record ExpectedLimit(ContainerName container, String uuid, long hardBytes) {}
