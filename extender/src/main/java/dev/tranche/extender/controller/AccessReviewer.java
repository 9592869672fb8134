package dev.tranche.extender.controller;

import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Access.Verdict;
import dev.tranche.extender.readapi.access.Caller;
import dev.tranche.extender.readapi.access.Right;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewStatus;
import io.fabric8.kubernetes.api.model.authentication.UserInfo;
import io.fabric8.kubernetes.api.model.authorization.v1.SubjectAccessReviewBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import java.util.Objects;
import java.util.Optional;

/** Asks the API server whose token it is, and whether that user has a right. */
public final class AccessReviewer implements Access.Reviews {
  private static final int AT_ONCE_MAX = 4;
  private static final int WAITING_MAX = 64;

  private final KubernetesClient client;
  private final Workers workers;

  /**
   * @param client must have a request timeout
   */
  public AccessReviewer(KubernetesClient client, ExtenderMetrics metrics) {
    this.client = client;
    this.workers = new Workers("access", AT_ONCE_MAX, WAITING_MAX, metrics);
  }

  @Override
  public Future<Verdict> review(Caller caller, Right right) {
    return workers.submit(() -> reviewed(caller, right));
  }

  private Verdict reviewed(Caller caller, Right right) {
    return switch (caller) {
      case Caller.User user -> verdict(user, right);
      case Caller.Token(String token) ->
          user(token).map(user -> verdict(user, right)).orElseGet(Verdict.Unknown::new);
    };
  }

  private Optional<Caller.User> user(String token) {
    TokenReviewStatus status = TokenReviewer.review(client, token);
    if (!Boolean.TRUE.equals(status.getAuthenticated())) {
      return Optional.empty();
    }
    UserInfo user = status.getUser();
    return Optional.of(
        new Caller.User(
            user.getUsername(),
            Objects.requireNonNullElse(user.getUid(), ""),
            user.getGroups(),
            user.getExtra()));
  }

  private Verdict verdict(Caller.User user, Right right) {
    var spec =
        new SubjectAccessReviewBuilder()
            .withNewSpec()
            .withUser(user.name())
            .withUid(user.uid())
            .withGroups(user.groups())
            .withExtra(user.extra());
    switch (right) {
      case Right.NonResource(String verb, String path) ->
          spec.withNewNonResourceAttributes(path, verb);
      case Right.Pods(String verb, String namespace) ->
          spec.withNewResourceAttributes()
              .withVerb(verb)
              .withVersion("v1")
              .withResource("pods")
              .withNamespace(namespace)
              .endResourceAttributes();
    }
    var status =
        client
            .authorization()
            .v1()
            .subjectAccessReview()
            .create(spec.endSpec().build())
            .getStatus();
    return Boolean.TRUE.equals(status.getAllowed())
        ? new Verdict.Allowed()
        : new Verdict.Forbidden(user.name());
  }
}
