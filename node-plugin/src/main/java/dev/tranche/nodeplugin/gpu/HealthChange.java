package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A GPU whose health has changed. */
public record HealthChange(GpuInfo gpu, Health before, Health now) {
  /** Returns the changes between two samples; a GPU that is new and healthy is not a change. */
  public static List<HealthChange> between(List<GpuStatus> before, List<GpuStatus> after) {
    Map<String, Health> known = new HashMap<>();
    before.forEach(gpu -> known.put(gpu.info().uuid(), gpu.health()));
    List<HealthChange> changes = new ArrayList<>();
    for (GpuStatus gpu : after) {
      Health then = known.getOrDefault(gpu.info().uuid(), new Health.Healthy());
      if (!then.reason().equals(gpu.health().reason())) {
        changes.add(new HealthChange(gpu.info(), then, gpu.health()));
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

  /** Returns the reason of the event, in CamelCase. */
  public String reason() {
    return switch (now) {
      case Health.Healthy ignored -> before instanceof Health.Lost ? "GpuReturned" : "GpuHealthy";
      case Health.Lost ignored -> "GpuLost";
      case Health.Faulty ignored -> "GpuUnhealthy";
    };
  }

  /** Returns a sentence that names the GPU. */
  public String message() {
    String what =
        switch (now) {
          case Health.Healthy ignored ->
              before instanceof Health.Lost
                  ? "responds again and takes new pods"
                  : "has had no new errors and responds: it takes new pods";
          case Health.Lost lost -> "is lost, and so are the pods on it: " + lost.reason();
          case Health.Faulty faulty -> "takes no new pods: " + faulty.reason();
        };
    return "GPU %d (%s, %s) %s".formatted(gpu.index(), gpu.uuid(), gpu.model(), what);
  }
}
