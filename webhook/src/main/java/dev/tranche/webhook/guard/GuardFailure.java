package dev.tranche.webhook.guard;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What becomes of a pod that the guard fails on, by a defect of its own. The API server lets a pod
 * pass when its guard answers with an error. Whoever found the defect would be past the guard. A
 * defect must not stop every pod of the cluster either. So a pod is refused only if its review
 * holds the words of what the guard would have changed or refused. The API server escapes none of
 * them. All others are let in as they are, so without the void too, which keeps images of CUDA from
 * all GPUs of their node.
 */
public final class GuardFailure {
  private static final Pattern UID = Pattern.compile("\"uid\"\\s*:\\s*\"([-\\w]{1,64})\"");

  /** What {@code void} takes away, and {@code deny} refuses. */
  private static final List<String> CLOSED =
      List.of(
          "NVIDIA_VISIBLE_DEVICES",
          "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
          "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
          "nvidia-container-devices");

  /** What is told only, but for {@code deny}. */
  private static final List<String> DENIED =
      List.of("\"privileged\":true", "\"hostPath\":{", "\"envFrom\":[", "\"hostPID\":true");

  private final String review;
  private final List<String> closed;

  /**
   * @param body of the review, which nothing else could be made of
   * @param cdiAnnotationPrefixes of {@link GuardRules}
   */
  public GuardFailure(byte[] body, List<String> cdiAnnotationPrefixes) {
    review = new String(body, ISO_8859_1);
    closed =
        Stream.of(CLOSED, GpuAccess.annotationWords(), cdiAnnotationPrefixes)
            .flatMap(List::stream)
            .toList();
  }

  /** The request's, which the API server writes before any other; empty if there is none. */
  public String uid() {
    Matcher first = UID.matcher(review);
    return first.find() ? first.group(1) : "";
  }

  /** Whether a working guard may have changed or refused it. */
  public boolean reaches(GuardMode mode) {
    return switch (mode) {
      case AUDIT -> false;
      case VOID -> closed.stream().anyMatch(review::contains);
      case DENY ->
          closed.stream().anyMatch(review::contains) || DENIED.stream().anyMatch(review::contains);
    };
  }
}
