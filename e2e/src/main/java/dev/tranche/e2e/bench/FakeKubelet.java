package dev.tranche.e2e.bench;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.ContainerAllocateRequest;
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
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientOptions;
import io.vertx.grpc.server.GrpcServer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the kubelet asks of a device plugin, over its sockets: it takes the registration, follows
 * the devices, and times the calls. It knows no pods.
 */
final class FakeKubelet implements AutoCloseable {
  private final Vertx vertx = Vertx.vertx();
  private final BlockingQueue<Instant> registrations = new ArrayBlockingQueue<>(16);
  private final BlockingQueue<List<Device>> lists = new ArrayBlockingQueue<>(16);
  private final HttpServer server = vertx.createHttpServer();
  private final GrpcClient client =
      GrpcClient.client(vertx, new GrpcClientOptions().setMaxMessageSize(16 << 20));
  private final Path folder;
  private volatile SocketAddress plugin;

  /**
   * @param socket of this kubelet, in the folder where plugins have theirs
   * @param podResources where it tells who holds what
   */
  FakeKubelet(Path socket, Path podResources) {
    this.folder = socket.resolveSibling("");
    this.plugin = at(socket);
    GrpcServer grpc = GrpcServer.server(vertx);
    grpc.addService(
        new RegistrationGrpcService() {
          @Override
          public Future<Empty> register(RegisterRequest request) {
            registrations.offer(Instant.now());
            plugin = at(folder.resolve(request.getEndpoint()));
            follow();
            return Future.succeededFuture(Empty.getDefaultInstance());
          }
        });
    server.requestHandler(grpc).listen(plugin).await();
    vertx.createHttpServer().requestHandler(noPods()).listen(at(podResources)).await();
  }

  private GrpcServer noPods() {
    return GrpcServer.server(vertx)
        .addService(
            new PodResourcesListerGrpcService() {
              @Override
              public Future<ListPodResourcesResponse> list(ListPodResourcesRequest request) {
                return Future.succeededFuture(ListPodResourcesResponse.getDefaultInstance());
              }
            });
  }

  private static SocketAddress at(Path socket) {
    return SocketAddress.domainSocketAddress(socket.toString());
  }

  private void follow() {
    client
        .request(plugin, DevicePluginGrpcClient.ListAndWatch)
        .onSuccess(
            request -> {
              request.response().onSuccess(r -> r.handler((ListAndWatchResponse now) -> told(now)));
              request.end(Empty.getDefaultInstance());
            });
  }

  private void told(ListAndWatchResponse now) {
    lists.offer(now.getDevicesList());
  }

  /** The moment of the next registration, null when none comes. */
  @Nullable Instant awaitRegistration() throws InterruptedException {
    return registrations.poll(60, TimeUnit.SECONDS);
  }

  /** The ids that the plugin tells next, null when it tells none. */
  @Nullable List<String> awaitDevices() throws InterruptedException {
    List<Device> devices = lists.poll(60, TimeUnit.SECONDS);
    return devices == null ? null : devices.stream().map(Device::getID).toList();
  }

  /**
   * Asks for these devices again and again, each time when the answer is there.
   *
   * @return the time of each call in µs, in their order
   */
  double[] allocateUs(List<String> ids, int calls) {
    var container = ContainerAllocateRequest.newBuilder().addAllDevicesIds(ids);
    var request = AllocateRequest.newBuilder().addContainerRequests(container).build();
    var stub = DevicePluginGrpcClient.create(client, plugin);
    return timedUs(calls, () -> stub.allocate(request));
  }

  /** Asks which of the available ones it prefers; as {@link #allocateUs}. */
  double[] preferUs(List<String> available, int size, int calls) {
    var container =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(available)
            .setAllocationSize(size);
    var request = PreferredAllocationRequest.newBuilder().addContainerRequests(container).build();
    var stub = DevicePluginGrpcClient.create(client, plugin);
    return timedUs(calls, () -> stub.getPreferredAllocation(request));
  }

  // All on one loop, so that no switch between threads of ours is measured.
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
