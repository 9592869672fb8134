package dev.tranche.nodeplugin.usage;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Finds the cgroups of containers in a mounted cgroup v2, without their processes. So it needs
 * neither the host's PID namespace nor its proc folder. Confined to one thread.
 */
public final class ContainerCgroups {
  /** The kubelet's folders, a pod's and a container's, and below it that of crun. */
  private static final int DEPTH_MAX = 9;

  /** In which crun runs the processes of a container. */
  private static final String OF_CRUN = "container";

  private final Path root;
  private final PodNames names;

  /**
   * @param root the host's cgroup v2 folder
   * @param log the host's {@code /var/log}
   */
  public ContainerCgroups(Path root, Path log, LongSupplier clockMs) {
    this.root = root;
    this.names = new PodNames(log, clockMs);
  }

  /**
   * Returns the folder of the cgroup in which each running container's processes are.
   *
   * @throws IOException if the folders cannot be read
   */
  public Map<ContainerName, Path> find() throws IOException {
    Map<ContainerName, Path> found = new HashMap<>();
    Files.walkFileTree(
        root,
        Set.of(),
        DEPTH_MAX,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            var path = CgroupPath.parse("/" + root.relativize(folder));
            path.flatMap(names::of).ifPresent(container -> found.put(container, own(folder)));
            return path.isPresent() ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path gone, IOException e) {
            return FileVisitResult.CONTINUE;
          }
        });
    return found;
  }

  private static Path own(Path folder) {
    Path ofCrun = folder.resolve(OF_CRUN);
    return Files.isDirectory(ofCrun) ? ofCrun : folder;
  }
}
