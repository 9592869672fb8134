package dev.tranche.webhook.compat;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.api.Quantity;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The annotations of KAI-Scheduler, without a prefix and with memory as a number of MiB. Also those
 * of its GPU fractioning operator, which name a container and limit its memory by quantities.
 */
record KaiAnnotations(Translation pod) {
  private static final String MEMORY = "gpu-memory";
  private static final String FRACTION = "gpu-fraction";
  private static final String MPS = "mps";

  /** Of the whole pod, since KAI 0.18. */
  private static final String POD_MODE = "kai.scheduler/gpu-compute-sharing-mode";

  private static final Map<String, String> SAME =
      Map.of(
          FRACTION,
          Names.GPU_FRACTION,
          "gpu-fraction-num-devices",
          Names.GPU_COUNT,
          "gpu-fraction-container-name",
          Names.GPU_CONTAINER);

  private static final String OF_CONTAINER = "nvidia.com/container.";
  private static final String REQUEST = ".gpu-memory.request";
  private static final String LIMIT = ".gpu-memory.limit";
  private static final String MODE = ".gpu-compute.mode";
  private static final Pattern MEMORY_OF =
      Pattern.compile(Pattern.quote(OF_CONTAINER) + "(.+)\\.gpu-memory\\.(request|limit)");

  void read() {
    SAME.forEach(
        (theirs, ours) ->
            pod.annotation(theirs)
                .ifPresent(value -> pod.translate(theirs, value, ours, value.strip())));
    pod.annotation(MEMORY).ifPresent(this::memory);
    var bounded = new TreeSet<String>();
    var others = new TreeMap<String, String>();
    pod.annotations.forEach(
        (key, value) -> {
          if (key.startsWith(OF_CONTAINER)) {
            Matcher matcher = MEMORY_OF.matcher(key);
            if (matcher.matches()) {
              bounded.add(matcher.group(1));
            } else {
              others.put(key, value);
            }
          }
        });
    bounded.stream().takeWhile(container -> !pod.messages.isFull()).forEach(this::bounds);
    Set<String> keys = pod.annotations.keySet();
    boolean requestsShare = !bounded.isEmpty() || keys.contains(FRACTION) || keys.contains(MEMORY);
    others.entrySet().stream()
        .takeWhile(entry -> !pod.messages.isFull())
        .forEach(entry -> other(entry.getKey(), entry.getValue(), requestsShare));
    pod.annotation(POD_MODE).ifPresent(mode -> mode(POD_MODE, mode, requestsShare));
    // Any application may use this key; beside a share it is KAI's.
    pod.annotation(MPS)
        .filter(mps -> requestsShare && mps.strip().equals("true"))
        .ifPresent(mps -> pod.requireMps(MPS, mps));
  }

  private void memory(String memory) {
    if (Quantity.positive(memory.strip()) > 0) {
      pod.translate(MEMORY, memory, Names.GPU_MEMORY, memory.strip() + "Mi");
    } else {
      pod.messages.deny(
          Denial.COMPAT_MEMORY_MALFORMED, MEMORY, Printable.value(memory), Names.GPU_MEMORY);
    }
  }

  /**
   * Translates the limit, since a share is both request and limit. With only the request, a
   * container would fail under MPS where it did not fail with KAI.
   */
  private void bounds(String container) {
    String requestKey = OF_CONTAINER + container + REQUEST;
    String limitKey = OF_CONTAINER + container + LIMIT;
    Map<String, String> annotations = pod.annotations;
    String key = annotations.containsKey(limitKey) ? limitKey : requestKey;
    String value = annotations.getOrDefault(key, "");
    String request = annotations.getOrDefault(requestKey, value);
    long bytes = bytes(key, value);
    long requestBytes = request.equals(value) ? bytes : bytes(requestKey, request);
    if (bytes > 0 && requestBytes > bytes) {
      pod.denyConflict(requestKey, request, key, value);
    } else if (bytes > 0) {
      pod.translate(key, value, Names.GPU_MEMORY_OF + container, value.strip());
      if (requestBytes < bytes) {
        pod.ignore(requestKey, request);
      }
    }
  }

  /** Returns the bytes. If the value is not an amount of memory, adds a problem and returns 0. */
  private long bytes(String key, String value) {
    return GpuRequests.memory(key, value, pod.messages).orElse(null)
            instanceof Wanted.Memory(long bytes)
        ? bytes
        : 0;
  }

  private void other(String key, String value, boolean requestsShare) {
    if (key.endsWith(MODE)) {
      mode(key, value, requestsShare);
    } else {
      pod.ignore(key, value);
    }
  }

  private void mode(String key, String value, boolean requestsShare) {
    String mode = value.strip();
    boolean ignored = !requestsShare || mode.equals("time-slicing");
    boolean mps = mode.equals("sm-sharing");
    pod.translateMode(key, value, ignored, mps, "sm-sharing and time-slicing");
  }
}
