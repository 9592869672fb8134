package dev.tranche.extender.controller;

import dev.tranche.extender.election.Leadership;
import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.discovery.v1.Endpoint;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointPort;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSliceBuilder;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSliceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.net.HttpURLConnection;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes the verbs' Service to the leader alone. The Service has no selector, so that every replica
 * can be ready; its only endpoint is in this EndpointSlice of the same name. The leader writes the
 * slice and checks it every few seconds. A former leader removes its own address and never
 * another's.
 */
public final class VerbsEndpointSlice implements Leadership.Listener, AutoCloseable {
  private static final String SERVICE = "kubernetes.io/service-name";
  private static final String MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
  private static final String MANAGER = "tranche-extender";

  /** The name of the Service's port. */
  private static final String PORT = "verbs";

  private static final long CHECK_MS = 2_000;
  private static final int CALL_MS = 2_000;

  /** Time for a check under way and the withdrawal, of two calls each. */
  private static final long CLOSE_MS = 4L * CALL_MS;

  private static final Logger LOG = LoggerFactory.getLogger(VerbsEndpointSlice.class);

  /**
   * Where the Service should route to.
   *
   * @param pod its name
   * @param ip of the pod, a literal
   */
  public record Address(String pod, String ip) {
    private String type() {
      return InetAddress.ofLiteral(ip) instanceof Inet6Address ? "IPv6" : "IPv4";
    }
  }

  private final KubernetesClient client;
  private final String namespace;
  private final String name;
  private final Address own;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(Thread.ofVirtual().name("verbs-slice").factory());
  private volatile boolean leading;

  /** Of the verbs; 0 while it is not open. */
  private volatile int port;

  private volatile Optional<String> missing = Optional.empty();

  /** Whether the slice may contain our address; confined to the one thread. */
  private boolean written;

  /**
   * @param client stays the caller's to close
   * @param name of the Service, and of the slice
   */
  public VerbsEndpointSlice(KubernetesClient client, String namespace, String name, Address own) {
    this.client = ApiClient.withoutRetries(client, CALL_MS);
    this.namespace = namespace;
    this.name = name;
    this.own = own;
  }

  public void start() {
    var _ = thread.scheduleWithFixedDelay(this::check, 0, CHECK_MS, TimeUnit.MILLISECONDS);
  }

  /** The port of the verbs is open. */
  public void opened(int number) {
    port = number;
  }

  /** Routes the Service to this replica from now on. */
  @Override
  public void lead() {
    leading = true;
    inTurn(this::check);
  }

  /**
   * Stops routing the Service to this replica. Callers get an error at once, until another replica
   * leads.
   */
  @Override
  public void retire() {
    leading = false;
    inTurn(this::withdraw);
  }

  private void inTurn(Runnable work) {
    synchronized (thread) {
      if (!thread.isShutdown()) {
        thread.execute(work);
      }
    }
  }

  /** Returns why the Service can't reach the leader; empty if it can. */
  public Optional<String> missing() {
    return missing;
  }

  private void check() {
    Optional<String> before = missing;
    missing = leading ? tryReconcile() : Optional.empty();
    if (missing.isPresent() && !missing.equals(before)) {
      LOG.error("kube-scheduler cannot call the extender: {}", missing.get());
    }
  }

  private Optional<String> tryReconcile() {
    if (port == 0) {
      // Readiness says why it is not open yet.
      return Optional.empty();
    }
    try {
      return reconcile();
    } catch (Throwable e) {
      // Catches everything: an exception would end the periodic check.
      return e instanceof KubernetesClientException refusal
              && refusal.getCode() == HttpURLConnection.HTTP_CONFLICT
          ? missing
          : Optional.of(
              "EndpointSlice %s/%s is not written: %s".formatted(namespace, name, e.getMessage()));
    }
  }

  private Optional<String> reconcile() {
    EndpointSlice found = slices().withName(name).get();
    if (found != null && routesHere(found)) {
      return Optional.empty();
    }
    Service service = client.services().inNamespace(namespace).withName(name).get();
    if (service == null) {
      return Optional.of(
          "Service %s/%s does not exist; the chart creates it with extender.mode=service"
              .formatted(namespace, name));
    }
    if (leading) {
      written = true;
      write(found, wanted(service));
      LOG.info("Service {} routes to {}", name, own.ip());
    }
    return Optional.empty();
  }

  private boolean routesHere(EndpointSlice slice) {
    List<EndpointPort> ports = Objects.requireNonNullElse(slice.getPorts(), List.of());
    List<Endpoint> endpoints = endpoints(slice);
    return endpoints.size() == 1
        && isOwn(endpoints.getFirst())
        && endpoints.getFirst().getConditions() != null
        && Boolean.TRUE.equals(endpoints.getFirst().getConditions().getReady())
        && ports.size() == 1
        && PORT.equals(ports.getFirst().getName())
        && Integer.valueOf(port).equals(ports.getFirst().getPort())
        && name.equals(slice.getMetadata().getLabels().get(SERVICE));
  }

  /** Returns the endpoints; the API server sends null for none. */
  private static List<Endpoint> endpoints(EndpointSlice slice) {
    return Objects.requireNonNullElse(slice.getEndpoints(), List.of());
  }

  private boolean isOwn(Endpoint endpoint) {
    return endpoint.getAddresses().equals(List.of(own.ip()));
  }

  /** Builds the slice. The Service owns it, so that it is deleted with the Service. */
  private EndpointSlice wanted(Service service) {
    var owner =
        new OwnerReferenceBuilder()
            .withApiVersion("v1")
            .withKind("Service")
            .withName(name)
            .withUid(service.getMetadata().getUid())
            .build();
    return new EndpointSliceBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace(namespace)
        .withLabels(Map.of(SERVICE, name, MANAGED_BY, MANAGER))
        .withOwnerReferences(owner)
        .endMetadata()
        .withAddressType(own.type())
        .addNewEndpoint()
        .withAddresses(own.ip())
        .withNewConditions()
        .withReady(true)
        .endConditions()
        .withNewTargetRef()
        .withKind("Pod")
        .withNamespace(namespace)
        .withName(own.pod())
        .endTargetRef()
        .endEndpoint()
        .addNewPort()
        .withName(PORT)
        .withPort(port)
        .withProtocol("TCP")
        .endPort()
        .build();
  }

  /**
   * Writes only over the version that was read. Otherwise two replicas could undo each other's
   * writes when the leader changes.
   */
  private void write(@Nullable EndpointSlice found, EndpointSlice wanted) {
    if (found == null) {
      slices().resource(wanted).create();
    } else {
      slices()
          .resource(wanted)
          .lockResourceVersion(found.getMetadata().getResourceVersion())
          .update();
    }
  }

  private void withdraw() {
    missing = Optional.empty();
    if (!written) {
      return;
    }
    try {
      EndpointSlice found = slices().withName(name).get();
      if (found != null && endpoints(found).stream().anyMatch(this::isOwn)) {
        write(found, new EndpointSliceBuilder(found).withEndpoints(List.of()).build());
        LOG.info("Service {} no longer routes here", name);
      }
      written = false;
    } catch (KubernetesClientException e) {
      LOG.warn("cannot update EndpointSlice {}/{}: {}", namespace, name, e.getMessage());
    }
  }

  private NonNamespaceOperation<EndpointSlice, EndpointSliceList, Resource<EndpointSlice>>
      slices() {
    return client.discovery().v1().endpointSlices().inNamespace(namespace);
  }

  @Override
  public void close() {
    retire();
    synchronized (thread) {
      thread.shutdown();
    }
    try {
      if (!thread.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS)) {
        thread.shutdownNow();
      }
    } catch (InterruptedException hurried) {
      thread.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
