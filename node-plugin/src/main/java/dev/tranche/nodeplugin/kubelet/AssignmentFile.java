package dev.tranche.nodeplugin.kubelet;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.NodeReport;
import java.util.List;

/**
 * The content of the file by which assignments outlive a restart of the plugin: a NodeReport of
 * which only the time and the assignments are filled.
 */
public final class AssignmentFile {
  public static final String NAME = "assignments.binpb";

  private AssignmentFile() {}

  /**
   * @param nowMs milliseconds since 1970
   */
  public static byte[] content(List<Assignment> assignments, long nowMs) {
    return NodeReport.newBuilder()
        .setSentAtMs(nowMs)
        .addAllAssignments(assignments)
        .build()
        .toByteArray();
  }

  /** Those that have not expired meanwhile. */
  public static List<Assignment> parse(byte[] content, long nowMs)
      throws InvalidProtocolBufferException {
    NodeReport kept = NodeReport.parseFrom(content);
    long passedMs = Math.max(0, nowMs - kept.getSentAtMs());
    return kept.getAssignmentsList().stream()
        .filter(a -> Integer.toUnsignedLong(a.getExpiresInMs()) > passedMs)
        .map(
            a ->
                a.toBuilder()
                    .setExpiresInMs((int) (Integer.toUnsignedLong(a.getExpiresInMs()) - passedMs))
                    .build())
        .toList();
  }
}
