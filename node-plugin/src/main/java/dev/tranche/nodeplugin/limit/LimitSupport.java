package dev.tranche.nodeplugin.limit;

/** Whether the memory of containers on a GPU can be limited. */
public sealed interface LimitSupport {
  /**
   * A limit was set on a cgroup of its own, read back and removed.
   *
   * @param inherited whether a cgroup without a limit reads as the limit of a cgroup above
   */
  record Works(boolean inherited) implements LimitSupport {}

  /**
   * It cannot be limited now.
   *
   * @param reason what is missing and what to change, as a part of a sentence
   */
  record Unavailable(String reason) implements LimitSupport {}

  /** Of the kernel's controller: each cgroup has its own limit. */
  Works WORKS = new Works(false);

  /** Of the driver's own: a cgroup without a limit reads as the nearest limit above. */
  Works WORKS_INHERITED = new Works(true);

  /** Nothing has been tried yet. */
  Unavailable UNTRIED = new Unavailable("the plugin has not tried a limit on it yet");
}
