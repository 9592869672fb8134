package dev.tranche.nodeplugin.kubelet;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.NodeReport;
import java.util.List;

/**
 * The content of the file that keeps assignments across a restart of the plugin. It is a NodeReport
 * with only the time and the assignments filled in.
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

  /** Returns the assignments that have not expired meanwhile, each with its remaining time. */
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
