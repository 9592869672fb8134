package dev.tranche.nodeplugin.limit;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.CdiOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What the node's NVIDIA container toolkit can do for memory limits. An older program of it ignores
 * the hook and succeeds, so each program is checked before a container relies on it.
 *
 * @param present names of its programs
 * @param withHook those of them that have the hook
 * @param mode of its runtime; empty: unknown
 */
public record Toolkit(Set<String> present, Set<String> withHook, String mode) {
  /** NVIDIA's hook that sets a container's limit from two environment variables. */
  public static final String HOOK = "apply-cuda-memory-limits";

  static final String RUNTIME = "nvidia-container-runtime";
  static final String HOOK_PROGRAM = "nvidia-cdi-hook";
  static final List<String> PROGRAMS = List.of(RUNTIME, HOOK_PROGRAM, "nvidia-ctk");

  private static final Set<String> MODES_WITHOUT_HOOKS = Set.of("legacy", "csv");

  public static final Toolkit UNKNOWN = new Toolkit(Set.of(), Set.of(), "");

  public Toolkit {
    present = Set.copyOf(present);
    withHook = Set.copyOf(withHook);
  }

  /**
   * Returns why the hook would not run for containers that get their GPUs by these options; empty
   * if nothing is known to prevent it. Whether it ran is seen only in the container's cgroup.
   */
  Optional<String> obstacle(AllocateOptions options) {
    return Stream.of(
            options.deviceListStrategies().stream().anyMatch(DeviceListStrategy::cdi)
                ? ofOurSpec(options.cdi())
                : Optional.<String>empty(),
            options.deviceListStrategies().stream().allMatch(DeviceListStrategy::cdi)
                ? Optional.<String>empty()
                : ofRuntime())
        .flatMap(Optional::stream)
        .findFirst();
  }

  private Optional<String> ofOurSpec(CdiOptions cdi) {
    if (!cdi.names(HOOK)) {
      return Optional.of(
          "cdi-disable-hooks leaves the hook %s out of the CDI specs; remove it or all from that list"
              .formatted(HOOK));
    }
    String path = cdi.hookPath();
    return ofProgram(path.substring(path.lastIndexOf('/') + 1));
  }

  private Optional<String> ofRuntime() {
    return MODES_WITHOUT_HOOKS.contains(mode)
        ? Optional.of(
            "NVIDIA's container runtime has mode %s, which runs no hook %s; set its mode to auto, or set deviceListStrategy to cdi-cri"
                .formatted(mode, HOOK))
        : ofProgram(RUNTIME).or(() -> ofProgram(HOOK_PROGRAM));
  }

  private Optional<String> ofProgram(String name) {
    if (withHook.contains(name)) {
      return Optional.empty();
    }
    return Optional.of(
        present.contains(name)
            ? "the node's %s is too old to have the hook %s; install NVIDIA's container toolkit 1.20.1 or newer"
                .formatted(name, HOOK)
            : "the node's toolkit folder has no program %s; set cdi.nvidiaHookPath to the hook program of NVIDIA's container toolkit on the node"
                .formatted(name));
  }
}
