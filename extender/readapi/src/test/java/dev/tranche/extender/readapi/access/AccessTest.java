package dev.tranche.extender.readapi.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.access.Access.Verdict;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class AccessTest {
  private final List<String> asked = new ArrayList<>();
  private Future<Verdict> answer = Future.succeededFuture(new Verdict.Allowed());
  private long nowNs = 1;
  private final Access access =
      new Access(
          (token, verb, path) -> {
            asked.add(token + " " + verb + " " + path);
            return answer;
          },
          "tranche-viewer",
          () -> nowNs);

  @Test
  void withoutAToken_nobodyIsAsked() {
    assertThat(refusal(null).orElseThrow().status()).isEqualTo(401);
    assertThat(refusal("Basic dTpw").orElseThrow().status()).isEqualTo(401);
    // Over HTTP/2 the space is kept, and the API server answers such a review with an error.
    assertThat(refusal("Bearer ").orElseThrow().status()).isEqualTo(401);
    assertThat(asked).isEmpty();
  }

  /** The ClusterRole system:discovery lets every account get /api/* of the API server. */
  @Test
  void right_isNotOneThatEveryAccountHas() {
    assertThat(refusal("Bearer t")).isEmpty();
    assertThat(asked).containsExactly("t get /tranche/api/v1/gpus");
  }

  @Test
  void allowed_isRemembered_andAskedAgainAfterAWhile() {
    refusal("Bearer t");
    pass(Access.ALLOWED_FOR.minusMillis(1));
    assertThat(refusal("Bearer t")).isEmpty();
    assertThat(asked).hasSize(1);
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    pass(Duration.ofMillis(1));
    assertThat(refusal("Bearer t").orElseThrow().status()).isEqualTo(403);
    assertThat(asked).hasSize(2);
  }

  @Test
  void rightThatWasJustGiven_countsSoon() {
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    Problem problem = refusal("Bearer t").orElseThrow();
    assertThat(problem.status()).isEqualTo(403);
    assertThat(problem.detail())
        .contains("\"u\" may not get", "/tranche/api/v1/gpus", "ClusterRole tranche-viewer");
    answer = Future.succeededFuture(new Verdict.Allowed());
    assertThat(refusal("Bearer t")).isPresent();
    pass(Access.REFUSED_FOR);
    assertThat(refusal("Bearer t")).isEmpty();
  }

  @Test
  void anotherPath_isAnotherRight() {
    refusal("Bearer t");
    access.refusal("Bearer t", "get", "/api/v1/pods", "1.1.1.1");
    assertThat(asked).containsExactly("t get /tranche/api/v1/gpus", "t get /tranche/api/v1/pods");
  }

  @Test
  void randomTokensOfOneAddress_areNotAllReviewed() {
    answer = Future.succeededFuture(new Verdict.Unknown());
    for (int i = 0; i < 1_000; i++) {
      int status = refusal("Bearer " + i).orElseThrow().status();
      assertThat(status).isEqualTo(i < Access.REFUSED_BURST ? 401 : 429);
    }
    assertThat(asked).hasSize(Access.REFUSED_BURST);
    answer = Future.succeededFuture(new Verdict.Allowed());
    assertThat(access.refusal("Bearer t", "get", "/api/v1/gpus", "2.2.2.2").result())
        .as("another address")
        .isEmpty();
  }

  @Test
  void acceptedTokens_areNotLimited() {
    for (int i = 0; i < 1_000; i++) {
      assertThat(refusal("Bearer " + i)).isEmpty();
    }
  }

  /** An open page is reviewed every few seconds, whatever others behind its address send. */
  @Test
  void tokenThatWasAccepted_isReviewedAgain_whateverItsAddressSends() {
    refusal("Bearer t");
    pass(Access.ALLOWED_FOR);
    sendRefused();
    assertThat(refusal("Bearer t")).isEmpty();
  }

  @Test
  void tokenThatWasTakenBack_isLimitedAsAnyOther() {
    refusal("Bearer t");
    pass(Access.ALLOWED_FOR);
    answer = Future.succeededFuture(new Verdict.Unknown());
    assertThat(refusal("Bearer t").orElseThrow().status()).isEqualTo(401);
    pass(Access.REFUSED_FOR);
    sendRefused();
    assertThat(refusal("Bearer t").orElseThrow().status()).isEqualTo(429);
  }

  /** As many as one address may, and more. */
  private void sendRefused() {
    Future<Verdict> before = answer;
    answer = Future.succeededFuture(new Verdict.Unknown());
    for (int i = 0; i <= Access.REFUSED_BURST; i++) {
      refusal("Bearer refused-" + i);
    }
    answer = before;
  }

  @Test
  void whatIsRemembered_isBounded() {
    for (int i = 0; i < 2 * Access.REMEMBERED_MAX; i++) {
      refusal("Bearer " + i);
    }
    assertThat(access.remembered()).isLessThanOrEqualTo(Access.REMEMBERED_MAX);
  }

  @Test
  void apiServerThatDoesNotAnswer_isAskedAgain() {
    answer = Future.failedFuture("down");
    // However often it is asked, that is no token which was refused.
    for (int i = 0; i <= Access.REFUSED_BURST; i++) {
      assertThat(refusal("Bearer t").orElseThrow().status()).isEqualTo(503);
    }
    answer = Future.succeededFuture(new Verdict.Allowed());
    assertThat(refusal("Bearer t")).isEmpty();
  }

  private Optional<Problem> refusal(@Nullable String authorization) {
    return access.refusal(authorization, "get", "/api/v1/gpus", "1.1.1.1").result();
  }

  private void pass(Duration time) {
    nowNs += time.toNanos();
  }
}
