package dev.tranche.extender.readapi.access;

import java.util.List;
import java.util.Map;

/** Who asks. */
public sealed interface Caller {
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
