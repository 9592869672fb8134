package dev.tranche.process.token;

import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A token as RFC 6750 writes it. Any other is refused without a review: the API server answers a
 * review of no token with an error, and an error does not count against the peer.
 */
public final class BearerToken {
  private static final Pattern HEADER = Pattern.compile("Bearer ([A-Za-z0-9._~+/-]+=*)");

  private BearerToken() {}

  /**
   * @param authorization value of the header {@code Authorization}
   */
  public static Optional<String> of(@Nullable String authorization) {
    var header = HEADER.matcher(String.valueOf(authorization));
    return header.matches() ? Optional.of(header.group(1)) : Optional.empty();
  }
}
