package dev.tranche.e2e.kubelet;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.ContainerAllocateRequest;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcClient;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.PreferredAllocationRequest;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcService;
import dev.tranche.api.podresources.ListPodResourcesRequest;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResourcesListerGrpcService;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientOptions;
import io.vertx.grpc.server.GrpcServer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A fake kubelet for device plugins, with its own sockets. It takes registrations, follows the
 * devices, allocates some, and times the calls. It knows no pods.
 */
public final class FakeKubelet implements AutoCloseable {
  private static final int ANSWER_LIMIT_S = 10;

  private final Vertx vertx = Vertx.vertx();
  private final BlockingQueue<Instant> registrations = new ArrayBlockingQueue<>(16);
  private final BlockingQueue<List<Device>> lists = new ArrayBlockingQueue<>(16);
  // By resource.
  private final Map<String, RegisterRequest> registered = new ConcurrentHashMap<>();
  private final Map<String, List<Device>> devices = new ConcurrentHashMap<>();
  private final GrpcClient client =
      GrpcClient.client(vertx, new GrpcClientOptions().setMaxMessageSize(16 << 20));
  private final Path folder;
  // The socket of the plugin that registered last.
  private volatile SocketAddress plugin;

  /**
   * @param socket the socket of this kubelet, in the folder of the plugins' sockets
   * @param podResources the socket of the PodResources API
   */
  public FakeKubelet(Path socket, Path podResources) {
    this.folder = socket.resolveSibling("");
    this.plugin = at(socket);
    var registration =
        new RegistrationGrpcService() {
          @Override
          public Future<Empty> register(RegisterRequest request) {
            registrations.offer(Instant.now());
            registered.put(request.getResourceName(), request);
            plugin = socketOf(request);
            follow(request);
            return Future.succeededFuture(Empty.getDefaultInstance());
          }
        };
    var noPods =
        new PodResourcesListerGrpcService() {
          @Override
          public Future<ListPodResourcesResponse> list(ListPodResourcesRequest request) {
            return Future.succeededFuture(ListPodResourcesResponse.getDefaultInstance());
          }
        };
    serve(socket, GrpcServer.server(vertx).addService(registration));
    serve(podResources, GrpcServer.server(vertx).addService(noPods));
  }

  private void serve(Path socket, GrpcServer service) {
    vertx.createHttpServer().requestHandler(service).listen(at(socket)).await();
  }

  private SocketAddress socketOf(RegisterRequest request) {
    return at(folder.resolve(request.getEndpoint()));
  }

  private static SocketAddress at(Path socket) {
    return SocketAddress.domainSocketAddress(socket.toString());
  }

  private void follow(RegisterRequest registration) {
    String resource = registration.getResourceName();
    client
        .request(socketOf(registration), DevicePluginGrpcClient.ListAndWatch)
        .onSuccess(
            request -> {
              request
                  .response()
                  .onSuccess(
                      r -> r.handler((ListAndWatchResponse now) -> onDevices(resource, now)));
              request.end(Empty.getDefaultInstance());
            });
  }

  private void onDevices(String resource, ListAndWatchResponse now) {
    devices.put(resource, now.getDevicesList());
    lists.offer(now.getDevicesList());
  }

  /** By resource. */
  public Map<String, RegisterRequest> registered() {
    return Map.copyOf(registered);
  }

  /** By resource. */
  public Map<String, List<Device>> devices() {
    return Map.copyOf(devices);
  }

  /** The moment of the next registration, null when none comes. */
  public @Nullable Instant awaitRegistration() throws InterruptedException {
    return registrations.poll(60, TimeUnit.SECONDS);
  }

  /** Returns the ids that a plugin lists next, or null if it lists none. */
  public @Nullable List<String> awaitDevices() throws InterruptedException {
    List<Device> listed = lists.poll(60, TimeUnit.SECONDS);
    return listed == null ? null : listed.stream().map(Device::getID).toList();
  }

  /** Allocates devices, and returns what a container with them would be started with. */
  public ContainerAllocateResponse allocate(String resource, List<String> ids)
      throws TimeoutException {
    RegisterRequest registration = registered.get(resource);
    if (registration == null) {
      throw new IllegalArgumentException(resource + " is not registered");
    }
    return DevicePluginGrpcClient.create(client, socketOf(registration))
        .allocate(request(ids))
        .await(ANSWER_LIMIT_S, TimeUnit.SECONDS)
        .getContainerResponses(0);
  }

  private static AllocateRequest request(List<String> ids) {
    var container = ContainerAllocateRequest.newBuilder().addAllDevicesIds(ids);
    return AllocateRequest.newBuilder().addContainerRequests(container).build();
  }

  /**
   * Allocates these devices from the plugin that registered last, again and again, one call after
   * the other.
   *
   * @return the time of each call in µs, in their order
   */
  public double[] allocateUs(List<String> ids, int calls) {
    var request = request(ids);
    var stub = DevicePluginGrpcClient.create(client, plugin);
    return timedUs(calls, () -> stub.allocate(request));
  }

  /**
   * Asks again and again which of the available devices the plugin prefers: see {@link
   * #allocateUs}.
   */
  public double[] preferUs(List<String> available, int size, int calls) {
    var container =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(available)
            .setAllocationSize(size);
    var request = PreferredAllocationRequest.newBuilder().addContainerRequests(container).build();
    var stub = DevicePluginGrpcClient.create(client, plugin);
    return timedUs(calls, () -> stub.getPreferredAllocation(request));
  }

  // Runs all calls on one event loop, so that no switch between our threads is measured.
  private double[] timedUs(int calls, Supplier<Future<?>> call) {
    double[] tookUs = new double[calls];
    Promise<Void> done = Promise.promise();
    vertx.runOnContext(v -> next(0, tookUs, call, done));
    try {
      done.future().await(60, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IllegalStateException(calls + " calls to " + plugin + " take over 60 s", e);
    }
    return tookUs;
  }

  private static void next(
      int index, double[] tookUs, Supplier<Future<?>> call, Promise<Void> done) {
    if (index == tookUs.length) {
      done.complete();
      return;
    }
    long startNs = System.nanoTime();
    call.get()
        .onSuccess(
            answer -> {
              tookUs[index] = (System.nanoTime() - startNs) / 1e3;
              next(index + 1, tookUs, call, done);
            })
        .onFailure(done::fail);
  }

  @Override
  public void close() {
    vertx.close().await();
  }
}
