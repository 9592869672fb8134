package dev.tranche.nodeplugin.limit;

/** Whether the memory of containers on a GPU can be limited. */
public sealed interface LimitSupport {
  /** A limit was set on a cgroup of its own, read back and removed. */
  record Works() implements LimitSupport {}

  /**
   * It cannot be limited now.
   *
   * @param reason what is missing and what to change, as a part of a sentence
   */
  record Unavailable(String reason) implements LimitSupport {}

  Works WORKS = new Works();

  /** Nothing has been tried yet. */
  Unavailable UNTRIED = new Unavailable("the plugin has not tried a limit on it yet");
}
