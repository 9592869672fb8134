package dev.tranche.nodeplugin.usage;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pod and the container that a process's cgroup names. The kubelet's cgroup drivers (systemd,
 * cgroupfs) and the runtimes (containerd, CRI-O, Docker) spell the path differently. Every path has
 * the pod's uid and, after it, the container's id of 64 digits.
 *
 * @param podUid with dashes, or 32 digits for a static pod
 */
record CgroupPath(String podUid, String containerId) {
  private static final String UID =
      "[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32}";
  // The first part is greedy: where nodes are containers themselves, the innermost pod counts.
  private static final Pattern PATH =
      Pattern.compile(".*[/-]pod(" + UID + ")(?:\\.slice)?[/:](?:.*?[/:-])?([0-9a-f]{64})\\b.*");

  /**
   * Reads {@code /proc/<pid>/cgroup}: one line in version 2, one for each hierarchy in version 1.
   */
  static Optional<CgroupPath> parse(String file) {
    return file.lines()
        .map(PATH::matcher)
        .filter(Matcher::matches)
        .map(m -> new CgroupPath(m.group(1).replace('_', '-'), m.group(2)))
        .findFirst();
  }
}
