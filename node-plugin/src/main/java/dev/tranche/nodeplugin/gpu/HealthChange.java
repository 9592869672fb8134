package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A GPU whose health has changed.
 *
 * @param reason the reason of the event, in CamelCase
 * @param message a sentence that names the GPU
 */
public record HealthChange(String uuid, String reason, String message, Health before, Health now) {
  /** Returns the changes between two samples; a GPU that is new and healthy is not a change. */
  public static List<HealthChange> between(List<GpuStatus> before, List<GpuStatus> after) {
    Map<String, Health> known = new HashMap<>();
    before.forEach(gpu -> known.put(gpu.info().uuid(), gpu.health()));
    List<HealthChange> changes = new ArrayList<>();
    for (GpuStatus gpu : after) {
      Health then = known.getOrDefault(gpu.info().uuid(), new Health.Healthy());
      if (!then.reason().equals(gpu.health().reason())) {
        changes.add(of(gpu.info(), then, gpu.health()));
      }
    }
    return changes;
  }

  /** Returns whether this is one more fault of a GPU that took no new pods for one like it. */
  public boolean moreOfAFault() {
    return before instanceof Health.Faulty then
        && now instanceof Health.Faulty more
        && then.resetNeeded() == more.resetNeeded();
  }

  private static HealthChange of(GpuInfo gpu, Health before, Health now) {
    String name = "GPU %d (%s, %s)".formatted(gpu.index(), gpu.uuid(), gpu.model());
    return switch (now) {
      case Health.Healthy ignored ->
          before instanceof Health.Lost
              ? new HealthChange(
                  gpu.uuid(),
                  "GpuReturned",
                  name + " responds again and takes new pods",
                  before,
                  now)
              : new HealthChange(
                  gpu.uuid(),
                  "GpuHealthy",
                  name + " has had no new errors and responds: it takes new pods",
                  before,
                  now);
      case Health.Lost lost ->
          new HealthChange(
              gpu.uuid(),
              "GpuLost",
              name + " is lost, and so are the pods on it: " + lost.reason(),
              before,
              now);
      case Health.Faulty faulty ->
          new HealthChange(
              gpu.uuid(),
              "GpuUnhealthy",
              name + " takes no new pods: " + faulty.reason(),
              before,
              now);
    };
  }
}
