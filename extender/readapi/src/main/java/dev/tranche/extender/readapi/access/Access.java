package dev.tranche.extender.readapi.access;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import dev.tranche.api.Printable;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.process.Sha256;
import dev.tranche.process.TokenBuckets;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.token.BearerToken;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides who may read. The API server says whose token it is and whether that user may read; its
 * verdict is remembered for a short time. Refused tokens are limited by address, and refused users
 * by name.
 */
public final class Access {
  /**
   * Prefix of the paths in the ClusterRole. It is not {@code /api/v1}, where we serve: by the
   * ClusterRole {@code system:discovery} every account may get {@code /api/*} of the API server.
   */
  static final String RIGHT = "/tranche";

  /** Where one namespace is shown. */
  public static final String NAMESPACES = "/apis/read.tranche.dev/v1/namespaces";

  /** How long a verdict is remembered: a right may be revoked, and a new one takes effect soon. */
  public static final Duration REMEMBERED_FOR = Duration.ofSeconds(10);

  static final int REMEMBERED_MAX = 4_096;

  /** Refused tokens of one address that are reviewed in a burst; then one a second. */
  static final int REFUSED_BURST = 32;

  private static final Logger LOG = LoggerFactory.getLogger(Access.class);

  private final Reviews reviews;
  private final String clusterRole;
  private final LineLimiter failureLog = new LineLimiter(LOG, "tokens not reviewed from");

  /** Reviews of each sender. All but refused ones give back what they took. */
  private final TokenBuckets reviewed;

  /** Keyed by the caller's digest, so that no token stays in memory, and by the right. */
  private final AsyncCache<String, Verdict> verdicts;

  /** The API server's verdict on a caller and a right. */
  public sealed interface Verdict {
    record Allowed() implements Verdict {}

    record Unknown() implements Verdict {}

    record Forbidden(String user) implements Verdict {}
  }

  /** Asks the API server. */
  @FunctionalInterface
  public interface Reviews {
    Future<Verdict> review(Caller caller, Right right);
  }

  /**
   * @param clusterRole ClusterRole that grants access; error messages name it
   */
  public Access(Reviews reviews, String clusterRole, Ticker ticker) {
    this.reviews = reviews;
    this.clusterRole = clusterRole;
    this.reviewed =
        new TokenBuckets(REFUSED_BURST, 1, () -> TimeUnit.NANOSECONDS.toMillis(ticker.read()));
    this.verdicts =
        Caffeine.newBuilder()
            .maximumSize(REMEMBERED_MAX)
            .ticker(ticker)
            .executor(Runnable::run)
            .expireAfterWrite(REMEMBERED_FOR)
            .buildAsync();
  }

  public long remembered() {
    return verdicts.synchronous().estimatedSize();
  }

  /** Returns the right to a path, without the prefix {@code /tranche}. */
  public static Right toPath(String verb, String path) {
    return new Right.NonResource(verb, RIGHT + path);
  }

  /**
   * Returns why a request is refused; empty if it may pass. The future never fails and may complete
   * on any thread.
   *
   * @param authorization value of the header {@code Authorization}
   * @param rights the caller needs all of them
   */
  public Future<Optional<Problem>> refusal(
      @Nullable String authorization, List<Right> rights, String address) {
    Optional<String> token = BearerToken.of(authorization);
    if (token.isEmpty()) {
      return refusedWith(
          Problem.unauthorized(
              "send the header Authorization: Bearer <token>, a ServiceAccount's by kubectl create"
                  + " token; or use kubectl port-forward to the local port, which needs none"));
    }
    return refusal(
        new Caller.Token(token.get()), Sha256.hex(token.get()), rights.iterator(), address);
  }

  /** Likewise, of a user whom the API server has authenticated. */
  public Future<Optional<Problem>> refusal(Caller.User user, List<Right> rights) {
    String digest = Sha256.hex(Json.buffer(user).toString());
    return refusal(user, "user " + digest, rights.iterator(), "user " + user.name());
  }

  private Future<Optional<Problem>> refusal(
      Caller caller, String digest, Iterator<Right> rights, String sender) {
    Future<Optional<Problem>> first = refusal(caller, digest, rights.next(), sender);
    return rights.hasNext()
        ? first.compose(
            refused -> refused.isPresent() ? first : refusal(caller, digest, rights, sender))
        : first;
  }

  /**
   * @param sender whose refused reviews are limited together
   */
  private Future<Optional<Problem>> refusal(
      Caller caller, String digest, Right right, String sender) {
    String key = digest + right;
    CompletableFuture<Verdict> known = verdicts.getIfPresent(key);
    if (known == null) {
      if (!reviewed.of(sender).tryAcquire()) {
        return refusedWith(Problem.tooMany(caller.tooManyRefused()));
      }
      known =
          verdicts.get(
              key,
              (same, executor) ->
                  reviews
                      .review(caller, right)
                      .onComplete(answer -> giveBack(answer, sender))
                      .toCompletionStage()
                      .toCompletableFuture());
    }
    return Future.fromCompletionStage(known)
        .map(verdict -> problemOf(verdict, right))
        .recover(
            failure -> {
              if (failureLog.tryAcquire(sender)) {
                LOG.warn("a caller could not be reviewed: {}", failure.toString());
              }
              return refusedWith(
                  Problem.unavailable(
                      "the API server could not review the token; retry in a second"));
            });
  }

  private static Future<Optional<Problem>> refusedWith(Problem problem) {
    return Future.succeededFuture(Optional.of(problem));
  }

  /**
   * Gives the permit back unless the token was refused. A failed review says nothing about the
   * token.
   */
  private void giveBack(AsyncResult<Verdict> answer, String sender) {
    if (answer.failed() || answer.result() instanceof Verdict.Allowed) {
      reviewed.of(sender).giveBack();
    }
  }

  private Optional<Problem> problemOf(Verdict verdict, Right right) {
    return switch (verdict) {
      case Verdict.Allowed() -> Optional.empty();
      case Verdict.Unknown() ->
          Optional.of(
              Problem.unauthorized(
                  "the API server does not accept the token; it may have expired, or be for another"
                      + " audience"));
      case Verdict.Forbidden(String user) ->
          Optional.of(Problem.of(403, "Forbidden", forbidden(Printable.name(user), right)));
    };
  }

  private String forbidden(String user, Right right) {
    return switch (right) {
      case Right.NonResource(String verb, String path) ->
          ("user \"%s\" may not %s the non-resource URL %s; bind the ClusterRole %s to it,"
                  + " as kubectl create clusterrolebinding does. Who may get and list the pods of"
                  + " one namespace reads it under %s/{namespace}")
              .formatted(user, verb, path, clusterRole, NAMESPACES);
      case Right.Pods(String verb, String namespace) ->
          ("user \"%s\" may not %s pods in the namespace %s; bind the ClusterRole view, edit or"
                  + " admin to it there, as kubectl create rolebinding does")
              .formatted(user, verb, namespace);
    };
  }
}
