package dev.tranche.extender.controller;

import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Access.Verdict;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewBuilder;
import io.fabric8.kubernetes.api.model.authentication.UserInfo;
import io.fabric8.kubernetes.api.model.authorization.v1.SubjectAccessReviewBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;

/** Asks the API server whose token it is, and whether that user may use a verb on a path. */
public final class AccessReviewer implements Access.Reviews, AutoCloseable {
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
  public Future<Verdict> review(String token, String verb, String path) {
    return workers.submit(() -> reviewed(token, verb, path));
  }

  private Verdict reviewed(String token, String verb, String path) {
    var status =
        client
            .tokenReviews()
            .create(new TokenReviewBuilder().withNewSpec().withToken(token).endSpec().build())
            .getStatus();
    if (status == null
        || !Boolean.TRUE.equals(status.getAuthenticated())
        || status.getUser() == null) {
      return new Verdict.Unknown();
    }
    UserInfo user = status.getUser();
    return may(user, verb, path)
        ? new Verdict.Allowed()
        : new Verdict.Forbidden(String.valueOf(user.getUsername()));
  }

  private boolean may(UserInfo user, String verb, String path) {
    var status =
        client
            .authorization()
            .v1()
            .subjectAccessReview()
            .create(
                new SubjectAccessReviewBuilder()
                    .withNewSpec()
                    .withUser(user.getUsername())
                    .withUid(user.getUid())
                    .withGroups(user.getGroups())
                    .withExtra(user.getExtra())
                    .withNewNonResourceAttributes(path, verb)
                    .endSpec()
                    .build())
            .getStatus();
    return status != null && Boolean.TRUE.equals(status.getAllowed());
  }

  @Override
  public void close() {
    workers.close();
  }
}
