package dev.tranche.webhook.guard;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.List;
import java.util.stream.Stream;

/**
 * Decides about a pod on which the guard failed by a defect of its own. By default, the API server
 * admits a pod if its guard answers with an error, so anyone who found the defect could bypass the
 * guard. Yet a defect must not stop every pod of the cluster. A pod is therefore denied only if its
 * review contains texts of what the guard would have changed. The API server escapes none of these
 * texts. All other pods are admitted unchanged. They lack the void, too, which otherwise keeps CUDA
 * images from all GPUs of their node.
 */
public final class GuardFailure {
  /** Texts of what mode {@code void} removes. */
  private static final List<String> REMOVED =
      Stream.of(
              List.of(Variables.NAME, DeviceListMounts.FOLDER_NAME),
              Variables.DEVICES,
              Variables.LIMITS)
          .flatMap(List::stream)
          .toList();

  private final String review;
  private final List<String> removed;

  /**
   * @param body the body of the review on which the guard failed
   * @param cdiAnnotationPrefixes those of {@link GuardRules}
   */
  public GuardFailure(byte[] body, List<String> cdiAnnotationPrefixes) {
    review = new String(body, ISO_8859_1);
    removed =
        Stream.of(REMOVED, GpuAccessPath.annotationTexts(), cdiAnnotationPrefixes)
            .flatMap(List::stream)
            .toList();
  }

  /** Whether a working guard may have changed it, and no policy refuses what it left. */
  public boolean isSuspect(GuardMode mode) {
    return mode == GuardMode.VOID && removed.stream().anyMatch(review::contains);
  }
}
