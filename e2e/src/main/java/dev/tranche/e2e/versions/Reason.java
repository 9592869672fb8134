package dev.tranche.e2e.versions;

import java.util.regex.Pattern;

/** The addresses that explain a difference between Kubernetes versions. */
final class Reason {
  private static final Pattern ADDRESS =
      Pattern.compile(
          "https://github\\.com/kubernetes/"
              + "(kubernetes/(commit/[0-9a-f]{7,40}|(issues|pull)/[0-9]+)|enhancements/issues/[0-9]+)");

  private Reason() {}

  static void check(String what, String address) {
    if (!ADDRESS.matcher(address).matches()) {
      throw new IllegalArgumentException(
          "the reason of \"%s\" is \"%s\"; it must be the address of a Kubernetes commit, issue, pull request or KEP"
              .formatted(what, address));
    }
  }
}
