package dev.tranche.e2e.cluster;

/** What a command on a node printed, and how it ended. */
public record Output(int exitCode, String out, String err) {

  /** Returns its standard output; throws a {@link ClusterException} if it failed. */
  public String orFail(String what) {
    if (exitCode != 0) {
      throw new ClusterException("%s ended with %d: %s%s".formatted(what, exitCode, out, err));
    }
    return out;
  }
}
