package dev.tranche.extender.readapi.access;

import java.util.List;
import java.util.Map;

/** Who asks. */
public sealed interface Caller {
  /** Says that no more of their reviews may be refused for now. */
  default String tooManyRefused() {
    return (this instanceof Token
            ? "too many tokens from this address"
            : "too many requests of this user")
        + " were refused; another is reviewed in a second";
  }

  /** Whoever presents this bearer token; the API server says who that is. */
  record Token(String token) implements Caller {
    /** The token stays out of logs. */
    @Override
    public String toString() {
      return "Token";
    }
  }

  /**
   * A user whom the API server has authenticated, when it proxies a request.
   *
   * @param uid may be empty
   */
  record User(String name, String uid, List<String> groups, Map<String, List<String>> extra)
      implements Caller {}
}
