package dev.tranche.webhook.events;

import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Checks whether the API server has an object: a pod or a controller that creates pods. Requests
 * only the metadata, and caches for a minute that an object exists. Confined to one thread, except
 * {@link #supports}.
 */
class ObjectLookup {
  private static final int REMEMBERED_MAX = 512;
  private static final long ANSWER_S_MAX = 5;
  private static final Duration AGE_MAX = Duration.ofMinutes(1);
  private static final String METADATA =
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  private static final int OK = 200;

  /** A name that Kubernetes accepts, so that no text can lead to another path. */
  private static final String NAME = "[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?";

  /** By API version and kind; the webhook's account may get these. */
  private static final Map<String, String> PATHS =
      Map.of(
          "v1 Pod", "/api/v1/namespaces/%s/pods/%s",
          "v1 ReplicationController", "/api/v1/namespaces/%s/replicationcontrollers/%s",
          "apps/v1 ReplicaSet", "/apis/apps/v1/namespaces/%s/replicasets/%s",
          "apps/v1 StatefulSet", "/apis/apps/v1/namespaces/%s/statefulsets/%s",
          "apps/v1 DaemonSet", "/apis/apps/v1/namespaces/%s/daemonsets/%s",
          "batch/v1 Job", "/apis/batch/v1/namespaces/%s/jobs/%s");

  private final KubernetesClient client;

  /** When each object was last found, oldest first. */
  private final Map<String, Instant> lastFound =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Instant> eldest) {
          return size() > REMEMBERED_MAX;
        }
      };

  ObjectLookup(KubernetesClient client) {
    this.client = client;
  }

  /** Whether {@link #PATHS} has the kind, and the namespace and the name are valid. */
  boolean supports(ObjectReference object) {
    return path(object).isPresent();
  }

  private static Optional<String> path(ObjectReference object) {
    String namespace = object.getNamespace();
    String name = object.getName();
    String path = PATHS.get(object.getApiVersion() + " " + object.getKind());
    return path != null && namespace.matches(NAME) && name.matches(NAME)
        ? Optional.of(path.formatted(namespace, name))
        : Optional.empty();
  }

  /** Waits for the API server; not on an event loop. */
  boolean exists(ObjectReference object) {
    Optional<String> path = path(object);
    if (path.isEmpty()) {
      return false;
    }
    Instant now = Instant.now();
    Instant last = lastFound.get(path.get());
    if (last != null && now.isBefore(last.plus(AGE_MAX))) {
      return true;
    }
    boolean exists = requestExists(path.get());
    if (exists) {
      lastFound.remove(path.get());
      lastFound.put(path.get(), now);
    }
    return exists;
  }

  private boolean requestExists(String path) {
    var request = ApiClient.request(client, path).header("Accept", METADATA).build();
    try {
      HttpResponse<?> answer =
          client
              .getHttpClient()
              .consumeBytes(request, (bytes, body) -> body.cancel())
              .get(ANSWER_S_MAX, TimeUnit.SECONDS);
      if (answer.body() instanceof io.fabric8.kubernetes.client.http.AsyncBody body) {
        body.cancel();
      }
      return answer.code() == OK;
    } catch (ExecutionException | TimeoutException failed) {
      throw new KubernetesClientException("looking up " + path, failed);
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
