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
      implements Caller {
    private static final String SERVICE_ACCOUNT = "system:serviceaccount:";

    /**
     * Returns whose limits this user's requests count against. The ServiceAccounts of a namespace
     * share theirs, since a tenant who may create one may create many.
     */
    public String sender() {
      int end = name.startsWith(SERVICE_ACCOUNT) ? name.indexOf(':', SERVICE_ACCOUNT.length()) : -1;
      return end < 0
          ? "user " + name
          : "namespace " + name.substring(SERVICE_ACCOUNT.length(), end);
    }
  }
}
