package dev.tranche.extender.controller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.stream.TokenCheck;
import dev.tranche.process.Sha256;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewStatus;
import io.fabric8.kubernetes.api.model.authentication.UserInfo;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Authenticates tokens by the API server's TokenReview. Only the node plugin's ServiceAccount is
 * accepted, and its node is the one for which the kubelet requested the token.
 */
public final class TokenReviewer implements TokenCheck {
  private static final String NODE = "authentication.kubernetes.io/node-name";
  private static final String POD = "authentication.kubernetes.io/pod-name";

  /** Accepted tokens expire soon, since a token may be revoked. */
  private static final Duration ACCEPTED = Duration.ofMinutes(1);

  /**
   * Refused ones expire even sooner: a plugin whose ServiceAccount was just created retries soon.
   * They are cached so that a caller that is always refused can't set the rate of reviews.
   */
  private static final Duration REFUSED = Duration.ofSeconds(10);

  private final KubernetesClient client;
  private final String namespace;
  private final String user;
  private final Workers workers;

  /** By digest, so that no token is kept in memory. */
  private final Cache<String, Identity> known =
      Caffeine.newBuilder()
          .maximumSize(20_000)
          .expireAfter(
              Expiry.writing(
                  (String digest, Identity identity) ->
                      identity instanceof Identity.OfNode ? ACCEPTED : REFUSED))
          .build();

  /**
   * @param namespace of the ServiceAccount that is accepted
   */
  public TokenReviewer(
      KubernetesClient client, String namespace, String serviceAccount, ExtenderMetrics metrics) {
    this.client = client;
    this.namespace = namespace;
    this.user = "system:serviceaccount:" + namespace + ":" + serviceAccount;
    this.workers = new Workers("reviews", 16, 8_192, metrics);
  }

  @Override
  public Future<Identity> identify(String token) {
    String digest = Sha256.hex(token);
    @Nullable Identity before = known.getIfPresent(digest);
    if (before != null) {
      return Future.succeededFuture(before);
    }
    return workers
        .submit(() -> review(token))
        .onSuccess(identity -> known.put(digest, identity))
        .recover(
            e ->
                Future.succeededFuture(
                    new Identity.Refused("the token could not be reviewed: " + e.getMessage())));
  }

  private Identity review(String token) {
    TokenReviewStatus status = review(client, token, Names.TOKEN_AUDIENCE);
    if (!Boolean.TRUE.equals(status.getAuthenticated())) {
      return new Identity.Refused("the API server does not accept the token");
    }
    if (!status.getAudiences().contains(Names.TOKEN_AUDIENCE)) {
      return new Identity.Refused("the token is not for audience " + Names.TOKEN_AUDIENCE);
    }
    return ofUser(status.getUser());
  }

  /** Asks the API server whose token it is. Blocks. */
  static TokenReviewStatus review(KubernetesClient client, String token, String... audiences) {
    return client
        .tokenReviews()
        .create(
            new TokenReviewBuilder()
                .withNewSpec()
                .withToken(token)
                .withAudiences(audiences)
                .endSpec()
                .build())
        .getStatus();
  }

  private Identity ofUser(UserInfo who) {
    if (!user.equals(who.getUsername())) {
      return new Identity.Refused(
          "the token is of %s; only %s may report"
              .formatted(Printable.name(who.getUsername()), user));
    }
    @Nullable String node = first(who.getExtra(), NODE);
    if (node == null) {
      node = nodeOfPod(first(who.getExtra(), POD));
    }
    return node == null
        ? new Identity.Refused("the token names neither a node nor a pod")
        : new Identity.OfNode(node);
  }

  /** Returns the pod's node. Before Kubernetes 1.32, a token names only its pod. */
  private @Nullable String nodeOfPod(@Nullable String pod) {
    if (pod == null) {
      return null;
    }
    Pod found = client.pods().inNamespace(namespace).withName(pod).get();
    return found == null ? null : found.getSpec().getNodeName();
  }

  private static @Nullable String first(Map<String, List<String>> extra, String key) {
    List<String> values = extra.getOrDefault(key, List.of());
    return values.isEmpty() ? null : values.getFirst();
  }
}
