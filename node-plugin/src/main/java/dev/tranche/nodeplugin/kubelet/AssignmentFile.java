package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.NodeReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Assignments on the host's disk, so that they outlive a restart of the plugin: a NodeReport of
 * which only the time and the assignments are filled. Blocks.
 */
public final class AssignmentFile {
  private static final String NAME = "assignments.binpb";

  private final Path folder;

  public AssignmentFile(Path folder) {
    this.folder = folder;
  }

  /**
   * @param nowMs milliseconds since 1970
   */
  public void write(List<Assignment> assignments, long nowMs) throws IOException {
    NodeReport file =
        NodeReport.newBuilder().setSentAtMs(nowMs).addAllAssignments(assignments).build();
    Files.createDirectories(folder);
    Path fresh = folder.resolve(NAME + ".new");
    Files.write(fresh, file.toByteArray());
    Files.move(fresh, folder.resolve(NAME), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Those that have not expired meanwhile; none if there is no file. */
  public List<Assignment> read(long nowMs) throws IOException {
    Path file = folder.resolve(NAME);
    if (!Files.exists(file)) {
      return List.of();
    }
    NodeReport kept = NodeReport.parseFrom(Files.readAllBytes(file));
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
