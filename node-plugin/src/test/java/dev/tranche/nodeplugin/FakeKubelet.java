package dev.tranche.nodeplugin;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.AllocateResponse;
import dev.tranche.api.kubelet.ContainerAllocateRequest;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcClient;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.PreferredAllocationRequest;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcService;
import dev.tranche.api.kubelet.RegistrationService;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesRequest;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.api.podresources.PodResourcesListerGrpcService;
import dev.tranche.api.podresources.PodResourcesListerService;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientOptions;
import io.vertx.grpc.client.GrpcClientRequest;
import io.vertx.grpc.client.GrpcClientResponse;
import io.vertx.grpc.server.GrpcServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the kubelet does with a device plugin, over real sockets: Registration with the dial back,
 * ListAndWatch, PodResources, and the admission of pods one at a time with its book-keeping. As the
 * kubelet since 1.37, it refuses a socket that it still knows, and forgets its client with that.
 * Fields without a value are set by start.
 */
@SuppressWarnings("NullAway.Init")
public final class FakeKubelet implements AutoCloseable {
  private static final String GPU = "nvidia.com/gpu";

  private final Vertx vertx = Vertx.vertx();
  private final Path folder;
  private final AtomicInteger registrations = new AtomicInteger();
  // By resource: the socket that takes the calls.
  private final Map<String, String> endpoints = new ConcurrentHashMap<>();
  // Sockets with a client whose end is noticed, and those that the device manager still knows.
  private final Set<String> clients = ConcurrentHashMap.newKeySet();
  private final Set<String> known = ConcurrentHashMap.newKeySet();
  private final Map<String, List<Device>> devices = new ConcurrentSkipListMap<>();
  private final Map<String, GrpcClientRequest<Empty, ListAndWatchResponse>> watches =
      new ConcurrentHashMap<>();
  private final Map<String, String> resourceOfPod = new ConcurrentHashMap<>();
  private final Map<String, Map<String, List<String>>> pods = new LinkedHashMap<>();
  private final List<HttpServer> servers = new ArrayList<>();
  private GrpcClient client;
  private volatile boolean podResourcesBroken;
  private volatile boolean answersLost;

  /** A device plugin's refusal, as the kubelet would write it into the pod's status. */
  public static final class Refused extends Exception {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }

  public FakeKubelet(Path folder) {
    this.folder = folder;
  }

  /** As the kubelet does: first all sockets in the folder are deleted. */
  public void start() throws Exception {
    try (var files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".sock")).toList()) {
        Files.delete(file);
      }
    }
    client = GrpcClient.client(vertx, new GrpcClientOptions().setMaxMessageSize(16 << 20));
    serve(
        "kubelet.sock",
        GrpcServer.server(vertx).addService(RegistrationGrpcService.of(new Registrations())));
    serve(
        "pod-resources.sock",
        GrpcServer.server(vertx).addService(PodResourcesListerGrpcService.of(new Lister())));
  }

  private void serve(String name, GrpcServer grpc) throws Exception {
    servers.add(vertx.createHttpServer().requestHandler(grpc).listen(at(name)).await());
  }

  /** Ends as a stopped kubelet: connections closed, sockets left where they are. */
  public void stop() throws Exception {
    client.close().await();
    for (HttpServer server : servers) {
      server.close().await();
    }
    servers.clear();
    devices.clear();
    clients.clear();
    known.clear();
  }

  @Override
  public void close() throws Exception {
    stop();
    vertx.close().await();
  }

  private SocketAddress at(String name) {
    return SocketAddress.domainSocketAddress(folder.resolve(name).toString());
  }

  private SocketAddress plugin(String resource) {
    return at(endpoint(resource));
  }

  public Path kubeletSocket() {
    return folder.resolve("kubelet.sock");
  }

  public Path podResourcesSocket() {
    return folder.resolve("pod-resources.sock");
  }

  private final class Registrations extends RegistrationService {
    @Override
    public Future<Empty> register(RegisterRequest request) {
      Future<Empty> answer = connect(request.getResourceName(), request.getEndpoint());
      return answersLost ? answer.compose(v -> Future.failedFuture("the answer was lost")) : answer;
    }
  }

  private Future<Empty> connect(String resource, String endpoint) {
    clients.add(endpoint);
    return DevicePluginGrpcClient.create(client, at(endpoint))
        .getDevicePluginOptions(Empty.getDefaultInstance())
        .compose(
            options ->
                known.add(endpoint)
                    ? Future.succeededFuture(Empty.getDefaultInstance())
                    : Future.failedFuture("device plugin already connected: " + endpoint))
        .onFailure(refused -> clients.remove(endpoint))
        .onSuccess(v -> registered(resource, endpoint));
  }

  /** Takes one more registration of the socket that serves a resource, and returns its failure. */
  public Optional<String> registerAgain(String resource) throws Exception {
    return connect(resource, endpoint(resource))
        .map(Optional.<String>empty())
        .otherwise(refused -> Optional.ofNullable(refused.getMessage()))
        .await();
  }

  /** Returns the name of the socket that serves a resource. */
  public String endpoint(String resource) {
    return endpoints.getOrDefault(resource, "none.sock");
  }

  /** Accepts registrations, but lets their answers get lost. */
  public void loseAnswers(boolean lost) {
    answersLost = lost;
  }

  private void registered(String resource, String endpoint) {
    endpoints.put(resource, endpoint);
    registrations.incrementAndGet();
    client
        .request(at(endpoint), DevicePluginGrpcClient.ListAndWatch)
        .onSuccess(
            request -> {
              watches.put(resource, request);
              request.response().onSuccess(r -> follow(resource, endpoint, request, r));
              request.end(Empty.getDefaultInstance());
            });
  }

  private void follow(
      String resource,
      String endpoint,
      GrpcClientRequest<Empty, ListAndWatchResponse> request,
      GrpcClientResponse<Empty, ListAndWatchResponse> response) {
    response.handler(list -> devices.put(resource, list.getDevicesList()));
    response.endHandler(v -> disconnected(resource, endpoint, request));
    response.exceptionHandler(failure -> disconnected(resource, endpoint, request));
  }

  private void disconnected(
      String resource, String endpoint, GrpcClientRequest<Empty, ListAndWatchResponse> request) {
    if (clients.remove(endpoint)) {
      known.remove(endpoint);
      if (request.equals(watches.get(resource))) {
        devices.remove(resource);
      }
    }
  }

  /** Drops the streams, as the kubelet does when it mixes up two plugins of one resource. */
  public void dropWatch() {
    watches.values().forEach(GrpcClientRequest::cancel);
    known.removeAll(clients);
    clients.clear();
    devices.clear();
  }

  private final class Lister extends PodResourcesListerService {
    @Override
    public Future<ListPodResourcesResponse> list(ListPodResourcesRequest request) {
      return podResourcesBroken
          ? Future.failedFuture("rate limited")
          : Future.succeededFuture(listing());
    }
  }

  private ListPodResourcesResponse listing() {
    ListPodResourcesResponse.Builder list = ListPodResourcesResponse.newBuilder();
    list.addPodResources(
        PodResources.newBuilder().setNamespace("tranche").setName("tranche-node-plugin-x7k2p"));
    synchronized (pods) {
      pods.forEach((name, containers) -> list.addPodResources(pod(name, containers)));
    }
    return list.build();
  }

  private PodResources pod(String name, Map<String, List<String>> containers) {
    PodResources.Builder pod = PodResources.newBuilder().setNamespace("default").setName(name);
    containers.forEach(
        (container, ids) -> {
          var resources = ContainerResources.newBuilder().setName(container);
          if (!ids.isEmpty()) {
            resources.addDevices(
                ContainerDevices.newBuilder()
                    .setResourceName(resourceOfPod.getOrDefault(name, GPU))
                    .addAllDeviceIds(ids));
          }
          pod.addContainers(resources);
        });
    return pod.build();
  }

  public void breakPodResources(boolean broken) {
    podResourcesBroken = broken;
  }

  public int registrations() {
    return registrations.get();
  }

  /** Of all resources, by their names' order. */
  public List<Device> devices() {
    return devices.values().stream().flatMap(List::stream).toList();
  }

  public List<Device> devices(String resource) {
    return devices.getOrDefault(resource, List.of());
  }

  /** Those that the kubelet counts as allocatable. */
  public long healthy() {
    return devices().stream().filter(d -> d.getHealth().equals("Healthy")).count();
  }

  public void delete(String pod) {
    synchronized (pods) {
      pods.remove(pod);
    }
  }

  /**
   * Makes a pod known, then asks for its containers in order, as the kubelet does.
   *
   * @param sizes replicas by container, in the order of the pod
   * @return what each container was given
   */
  public Map<String, AllocateResponse> admit(String pod, Map<String, Integer> sizes)
      throws Exception {
    return admit(GPU, pod, sizes);
  }

  /** The same for another resource than {@value #GPU}. */
  public Map<String, AllocateResponse> admit(
      String resource, String pod, Map<String, Integer> sizes) throws Exception {
    resourceOfPod.put(pod, resource);
    Map<String, List<String>> containers = new LinkedHashMap<>();
    sizes.keySet().forEach(name -> containers.put(name, List.of()));
    synchronized (pods) {
      pods.put(pod, containers);
    }
    Map<String, AllocateResponse> answers = new LinkedHashMap<>();
    for (var container : sizes.entrySet()) {
      List<String> ids = pick(resource, container.getValue());
      answers.put(container.getKey(), allocate(resource, ids));
      synchronized (pods) {
        containers.put(container.getKey(), ids);
      }
    }
    return answers;
  }

  /** The plugin's preference first, then any. */
  public List<String> pick(int size) throws Exception {
    return pick(GPU, size);
  }

  private List<String> pick(String resource, int size) throws Exception {
    List<String> free = free(resource);
    Set<String> picked = new LinkedHashSet<>(prefer(resource, free, size));
    picked.retainAll(free);
    free.stream().filter(id -> picked.size() < size).forEach(picked::add);
    return picked.stream().limit(size).toList();
  }

  public List<String> prefer(List<String> available, int size) throws Exception {
    return prefer(GPU, available, size);
  }

  private List<String> prefer(String resource, List<String> available, int size) throws Exception {
    var container =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(available)
            .setAllocationSize(size);
    var request = PreferredAllocationRequest.newBuilder().addContainerRequests(container).build();
    return DevicePluginGrpcClient.create(client, plugin(resource))
        .getPreferredAllocation(request)
        .await()
        .getContainerResponses(0)
        .getDeviceIDsList();
  }

  public List<String> free() {
    return free(GPU);
  }

  private List<String> free(String resource) {
    Set<String> used = new LinkedHashSet<>();
    synchronized (pods) {
      pods.forEach(
          (pod, containers) -> {
            if (resourceOfPod.getOrDefault(pod, GPU).equals(resource)) {
              containers.values().forEach(used::addAll);
            }
          });
    }
    return devices(resource).stream()
        .filter(d -> d.getHealth().equals("Healthy"))
        .map(Device::getID)
        .filter(id -> !used.contains(id))
        .sorted(Comparator.reverseOrder())
        .toList();
  }

  public AllocateResponse allocate(List<String> ids) throws Exception {
    return allocate(GPU, ids);
  }

  /** What the plugin of that resource answers for one container. */
  public AllocateResponse allocate(String resource, List<String> ids) throws Exception {
    var container = ContainerAllocateRequest.newBuilder().addAllDevicesIds(ids);
    var message = AllocateRequest.newBuilder().addContainerRequests(container).build();
    var response =
        client
            .request(plugin(resource), DevicePluginGrpcClient.Allocate)
            .compose(request -> request.send(message))
            .compose(
                r ->
                    r.last()
                        .otherwiseEmpty()
                        .map(answer -> Map.entry(r, Optional.ofNullable(answer))))
            .await();
    if (response.getValue().isEmpty()) {
      throw new Refused(response.getKey().statusMessage());
    }
    return response.getValue().get();
  }

  public List<String> held(String pod, String container) {
    synchronized (pods) {
      return pods.getOrDefault(pod, Map.of()).getOrDefault(container, List.of());
    }
  }
}
