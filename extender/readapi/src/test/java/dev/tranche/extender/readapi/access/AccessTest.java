package dev.tranche.extender.readapi.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.access.Access.Verdict;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class AccessTest {
  private static final List<Right> GPUS = List.of(Access.toPath("get", "/api/v1/gpus"));
  private static final List<Right> LIST_PODS =
      List.of(new Right.Pods("get", "team-a"), new Right.Pods("list", "team-a"));

  private final List<String> asked = new ArrayList<>();
  private Future<Verdict> answer = Future.succeededFuture(new Verdict.Allowed());
  private long nowNs = 1;
  private final Access access =
      new Access(
          (caller, right) -> {
            asked.add(name(caller) + " " + name(right));
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

  @Test
  void allowed_isRemembered_andAskedAgainAfterAWhile() {
    refusal("Bearer t");
    pass(Access.REMEMBERED_FOR.minusMillis(1));
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
    pass(Access.REMEMBERED_FOR);
    assertThat(refusal("Bearer t")).isEmpty();
  }

  /** The ClusterRole system:discovery lets every account get /api/* of the API server. */
  @Test
  void anotherPath_isAnotherRight() {
    refusal("Bearer t");
    access.refusal("Bearer t", List.of(Access.toPath("get", "/api/v1/pods")), "1.1.1.1");
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
    assertThat(access.refusal("Bearer t", GPUS, "2.2.2.2").result())
        .as("another address")
        .isEmpty();
  }

  @Test
  void acceptedTokens_areNotLimited_andOnlySomeAreRemembered() {
    for (int i = 0; i < 2 * Access.REMEMBERED_MAX; i++) {
      assertThat(refusal("Bearer " + i)).isEmpty();
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

  @Test
  void listOfANamespace_needsBothRights_eachAskedOnce() {
    assertThat(access.refusal("Bearer t", LIST_PODS, "1.1.1.1").result()).isEmpty();
    assertThat(access.refusal("Bearer t", LIST_PODS.subList(0, 1), "1.1.1.1").result()).isEmpty();
    assertThat(asked).containsExactly("t get pods in team-a", "t list pods in team-a");
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    Problem refused = access.refusal("Bearer other", LIST_PODS, "1.1.1.1").result().orElseThrow();
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.detail()).contains("\"u\" may not get pods in the namespace team-a");
    assertThat(asked).hasSize(3);
  }

  @Test
  void rightInOneNamespace_isNoneInAnother() {
    access.refusal("Bearer t", LIST_PODS, "1.1.1.1");
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    assertThat(
            access
                .refusal("Bearer t", List.of(new Right.Pods("get", "team-b")), "1.1.1.1")
                .result())
        .isPresent();
  }

  /** The groups and extras are part of who a user is. */
  @Test
  void verdictOnAUser_isNotThatOnAnother() {
    var alice = user("alice", "team-a");
    assertThat(access.refusal(alice, LIST_PODS).result()).isEmpty();
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    assertThat(access.refusal(alice, LIST_PODS).result()).isEmpty();
    assertThat(access.refusal(user("alice", "team-b"), LIST_PODS).result()).isPresent();
    assertThat(access.refusal(user("bob", "team-a"), LIST_PODS).result()).isPresent();
    var scoped = new Caller.User("alice", "", List.of("team-a"), Map.of("scopes", List.of("none")));
    assertThat(access.refusal(scoped, LIST_PODS).result()).isPresent();
    assertThat(access.refusal("Bearer alice", LIST_PODS, "1.1.1.1").result()).isPresent();
  }

  /** All of them come from the API server's address. */
  @Test
  void refusedUser_isLimited_andOthersAreNot() {
    answer = Future.succeededFuture(new Verdict.Forbidden("u"));
    for (int i = 0; i < 1_000; i++) {
      List<Right> right = List.of(new Right.Pods("get", "namespace-" + i));
      int status = access.refusal(user("greedy"), right).result().orElseThrow().status();
      assertThat(status).isEqualTo(i < Access.REFUSED_BURST ? 403 : 429);
    }
    answer = Future.succeededFuture(new Verdict.Allowed());
    assertThat(access.refusal(user("alice"), LIST_PODS).result()).isEmpty();
  }

  private static Caller.User user(String name, String... groups) {
    return new Caller.User(name, "", List.of(groups), Map.of());
  }

  private static String name(Caller caller) {
    return switch (caller) {
      case Caller.Token(String token) -> token;
      case Caller.User user -> user.name();
    };
  }

  private static String name(Right right) {
    return switch (right) {
      case Right.NonResource(String verb, String path) -> verb + " " + path;
      case Right.Pods(String verb, String namespace) -> verb + " pods in " + namespace;
    };
  }

  private Optional<Problem> refusal(@Nullable String authorization) {
    return access.refusal(authorization, GPUS, "1.1.1.1").result();
  }

  private void pass(Duration time) {
    nowNs += time.toNanos();
  }
}
