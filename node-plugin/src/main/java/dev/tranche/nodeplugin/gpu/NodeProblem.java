package dev.tranche.nodeplugin.gpu;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * A state of the node that lasts and that a person should know of, although GPUs may still work.
 *
 * @param count of the GPUs or parts that have it, at least 1
 * @param sentence for people
 */
public record NodeProblem(Reason reason, int count, String sentence) {
  /** Returns empty if nothing has the problem. */
  public static Optional<NodeProblem> of(Reason reason, int count, Supplier<String> sentence) {
    return count == 0
        ? Optional.empty()
        : Optional.of(new NodeProblem(reason, count, sentence.get()));
  }

  /** What is wrong; the names are also the reasons of events and a metric's label. */
  public enum Reason {
    /** NVML counts GPUs, or lists MIG devices, that do not tell who they are. */
    GPU_NOT_IDENTIFIED("GpuNotIdentified"),
    /** NVML reports errors of GPUs, but waiting for them fails. */
    GPU_ERRORS_UNWATCHED("GpuErrorsUnwatched"),
    /** GPUs answer, but not with their load. */
    GPU_LOAD_UNREADABLE("GpuLoadUnreadable"),
    /** Containers are to get GPUs by CDI specs, which cannot be written. */
    CDI_SPECS_NOT_WRITTEN("CdiSpecsNotWritten"),
    /** Shares must have a memory limit, and GPUs cannot have one. */
    GPU_MEMORY_NOT_LIMITED("GpuMemoryNotLimited"),
    /** Containers that should have a memory limit have none, or a larger one. */
    CONTAINER_MEMORY_NOT_LIMITED("ContainerMemoryNotLimited"),
    /** The pods of the GPUs' processes cannot be found. */
    POD_NAMES_UNREADABLE("PodNamesUnreadable");

    private final String text;

    Reason(String text) {
      this.text = text;
    }

    /** In CamelCase. */
    public String text() {
      return text;
    }
  }
}
