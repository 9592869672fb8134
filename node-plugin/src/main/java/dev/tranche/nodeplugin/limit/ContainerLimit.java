package dev.tranche.nodeplugin.limit;

import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.util.Locale;

/**
 * The limit that the driver tells of a running container.
 *
 * @param uuid of the GPU
 * @param hardBytes of its own cgroup; 0 where there is none
 * @param usedBytes what the driver counts against that limit; {@link GpuReading#UNKNOWN} where
 *     there is none
 */
public record ContainerLimit(
    ContainerName container, String uuid, Limited limited, long hardBytes, long usedBytes) {
  /** Whether a container is limited to its share. */
  public enum Limited {
    YES,
    /** Its limit is larger than its share. */
    PARTLY,
    NO,
    /** Its pod asked for no limit. */
    OPTED_OUT;

    /** As metrics spell it. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Whether its memory may exceed its share, although nobody allowed that. */
    public boolean wrong() {
      return this == PARTLY || this == NO;
    }
  }
}
