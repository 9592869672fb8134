package dev.tranche.webhook.request;

import dev.tranche.api.LimitRequest;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Validates a pod's GPU annotations other than the shares. */
public final class PlacementAnnotations {
  private static final String PREFIX = "tranche.dev/";
  private static final int WARNINGS_MAX = 5;

  private static final Set<String> PLACEMENTS = Set.of("load", "packed", "spread");
  private static final Pattern MODEL = Pattern.compile("!?\\s*[^!\\s].*");
  private static final Pattern UUID = Pattern.compile("!?(GPU|MIG)-\\S+");
  private static final List<String> PLACEMENT_KEYS =
      List.of(Names.GPU_PLACEMENT, Names.GPU_MODEL, Names.GPU_UUID);

  /** What users write, besides shares. */
  private static final Set<String> REQUESTS =
      Set.of(
          Names.GPU_MEMORY_LIMIT,
          Names.GPU_COUNT,
          Names.GPU_CONTAINER,
          Names.GPU_PLACEMENT,
          Names.GPU_MODEL,
          Names.GPU_UUID,
          Names.PLAIN_REQUESTS);

  /** The extender trusts these annotations, so what the user wrote there does not stay. */
  public static final Set<String> RESULTS =
      Set.of(
          Names.ADDED,
          Names.GPU,
          Names.GPU_MODEL_GRANTED,
          Names.GPUS_REQUESTED,
          Names.GRANTED_FRACTION,
          Names.GRANTED_MEMORY,
          Names.GRANTED_REPLICAS,
          Names.REPLICAS_PER_GPU,
          Names.SERVED_BY);

  private static final String WRITTEN_BY_USERS =
      "gpu-fraction, gpu-memory, gpu-memory-limit, gpu-count, gpu-container, gpu-placement,"
          + " gpu-model, gpu-uuid and plain-requests";

  private PlacementAnnotations() {}

  /** Returns whether one of them says which GPUs the pod may get. */
  public static boolean areOn(Map<String, String> annotations) {
    return PLACEMENT_KEYS.stream().anyMatch(annotations::containsKey);
  }

  /** Adds a problem for each invalid annotation. */
  public static void check(Map<String, String> annotations, Messages messages) {
    String placement = annotations.get(Names.GPU_PLACEMENT);
    if (placement != null && !PLACEMENTS.contains(placement)) {
      messages.deny(Denial.PLACEMENT_UNKNOWN, Names.GPU_PLACEMENT, Printable.value(placement));
    }
    String plain = annotations.get(Names.PLAIN_REQUESTS);
    if (plain != null && !plain.equals(Names.UNCHANGED)) {
      messages.deny(
          Denial.PLAIN_REQUESTS_UNKNOWN,
          Names.PLAIN_REQUESTS,
          Printable.value(plain),
          Names.UNCHANGED);
    }
    checkList(annotations, Names.GPU_MODEL, MODEL, "Tesla-T4,!NVIDIA-A10", messages);
    checkList(annotations, Names.GPU_UUID, UUID, "GPU-6e2f…,!GPU-91ab…", messages);
  }

  /**
   * Adds a problem for each invalid memory limit.
   *
   * @param optOut whether a pod can ask for no limit
   */
  public static void checkLimits(PodView pod, boolean optOut, Messages messages) {
    for (Map.Entry<String, String> annotation : pod.annotations().entrySet()) {
      String key = annotation.getKey();
      boolean named = key.startsWith(Names.GPU_MEMORY_LIMIT_OF);
      if ((named || key.equals(Names.GPU_MEMORY_LIMIT)) && !messages.isFull()) {
        if (named) {
          GpuRequests.checkContainer(
              pod, key, key.substring(Names.GPU_MEMORY_LIMIT_OF.length()), messages);
        }
        OptionalLong bytes = LimitRequest.parse(annotation.getValue());
        if (bytes.isEmpty()) {
          messages.deny(Denial.LIMIT_MALFORMED, key, Printable.value(annotation.getValue()));
        } else if (bytes.getAsLong() == LimitRequest.NONE && !optOut) {
          messages.deny(Denial.LIMIT_OPT_OUT, key);
        }
      }
    }
  }

  /** Adds a warning for each annotation of ours that does not exist. */
  public static void warnOfUnknown(Map<String, String> annotations, Messages messages) {
    annotations.keySet().stream()
        .filter(key -> key.startsWith(PREFIX) && !isKnown(key))
        .limit(WARNINGS_MAX)
        .forEach(key -> messages.warn(Warning.UNKNOWN, key, PREFIX, WRITTEN_BY_USERS));
  }

  private static boolean isKnown(String key) {
    return REQUESTS.contains(key)
        || RESULTS.contains(key)
        || Names.requestsShare(key)
        || key.startsWith(Names.GPU_MEMORY_LIMIT_OF);
  }

  /** Adds a warning for each placement annotation and limit of a pod that requests no GPU. */
  public static void warnOfNoEffect(Map<String, String> annotations, Messages messages) {
    Stream.concat(PLACEMENT_KEYS.stream(), Stream.of(Names.GPU_MEMORY_LIMIT))
        .filter(annotations::containsKey)
        .forEach(key -> messages.warn(Warning.NO_EFFECT, key, Names.GPU_FRACTION));
  }

  private static void checkList(
      Map<String, String> annotations,
      String key,
      Pattern pattern,
      String example,
      Messages messages) {
    String text = annotations.get(key);
    if (text == null) {
      return;
    }
    String[] items = text.split(",", RequestBounds.ALLOW_LIST_ENTRIES_MAX + 1);
    if (items.length > RequestBounds.ALLOW_LIST_ENTRIES_MAX
        || text.length() > RequestBounds.ALLOW_LIST_CHARS_MAX) {
      messages.deny(
          Denial.LIST_TOO_LONG,
          key,
          Printable.value(text),
          RequestBounds.ALLOW_LIST_ENTRIES_MAX,
          RequestBounds.ALLOW_LIST_CHARS_MAX);
      return;
    }
    for (String item : items) {
      String entry = item.strip();
      if (!pattern.matcher(entry).matches()) {
        messages.deny(Denial.LIST_MALFORMED, key, Printable.value(entry), example);
        return;
      }
    }
  }
}
