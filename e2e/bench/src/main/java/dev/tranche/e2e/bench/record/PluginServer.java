package dev.tranche.e2e.bench.record;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.AllocateResponse;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.ContainerPreferredAllocationResponse;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.DevicePluginOptions;
import dev.tranche.api.kubelet.DevicePluginService;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.PreferredAllocationRequest;
import dev.tranche.api.kubelet.PreferredAllocationResponse;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcClient;
import dev.tranche.simulate.script.ScriptedPlugin;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.streams.WriteStream;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Serves a {@link ScriptedPlugin} to a real kubelet, on a socket of its own. */
final class PluginServer extends DevicePluginService implements AutoCloseable {
  private static final int LIMIT_S = 20;
  private static final DevicePluginOptions OPTIONS =
      DevicePluginOptions.newBuilder().setGetPreferredAllocationAvailable(true).build();

  private final Vertx vertx = Vertx.vertx();
  private final ScriptedPlugin plugin;
  private final Path socket;
  private final HttpServer server;
  private final Set<WriteStream<ListAndWatchResponse>> lists = ConcurrentHashMap.newKeySet();

  /**
   * @param socket in the folder of the kubelet's own socket
   */
  PluginServer(ScriptedPlugin plugin, String resource, Path socket)
      throws TimeoutException, IOException {
    this.plugin = plugin;
    this.socket = socket;
    Files.deleteIfExists(socket);
    this.server =
        vertx
            .createHttpServer()
            .requestHandler(GrpcServer.server(vertx).addService(DevicePluginGrpcService.of(this)))
            .listen(at(socket))
            .await(LIMIT_S, TimeUnit.SECONDS);
    RegistrationGrpcClient.create(
            GrpcClient.client(vertx), at(socket.resolveSibling("kubelet.sock")))
        .register(
            RegisterRequest.newBuilder()
                .setVersion("v1beta1")
                .setEndpoint(String.valueOf(socket.getFileName()))
                .setResourceName(resource)
                .setOptions(OPTIONS)
                .build())
        .await(LIMIT_S, TimeUnit.SECONDS);
  }

  private static SocketAddress at(Path socket) {
    return SocketAddress.domainSocketAddress(socket.toString());
  }

  @Override
  public Future<DevicePluginOptions> getDevicePluginOptions(Empty request) {
    return Future.succeededFuture(OPTIONS);
  }

  @Override
  protected void listAndWatch(Empty request, WriteStream<ListAndWatchResponse> response) {
    lists.add(response);
    response.write(list());
  }

  private ListAndWatchResponse list() {
    var list = ListAndWatchResponse.newBuilder();
    plugin
        .devices()
        .forEach(
            (id, healthy) ->
                list.addDevices(
                    Device.newBuilder().setID(id).setHealth(healthy ? "Healthy" : "Unhealthy")));
    return list.build();
  }

  /** Sends the devices as they are now. */
  void send() {
    lists.forEach(stream -> stream.write(list()));
  }

  @Override
  public Future<PreferredAllocationResponse> getPreferredAllocation(
      PreferredAllocationRequest request) {
    var answer = PreferredAllocationResponse.newBuilder();
    request
        .getContainerRequestsList()
        .forEach(
            each ->
                answer.addContainerResponses(
                    ContainerPreferredAllocationResponse.newBuilder()
                        .addAllDeviceIDs(
                            plugin.prefer(
                                each.getAvailableDeviceIDsList(), each.getAllocationSize()))));
    return Future.succeededFuture(answer.build());
  }

  @Override
  public Future<AllocateResponse> allocate(AllocateRequest request) {
    var answer = AllocateResponse.newBuilder();
    for (var each : request.getContainerRequestsList()) {
      var refusal = plugin.allocate(each.getDevicesIdsList());
      if (refusal.isPresent()) {
        return Future.failedFuture(new StatusException(GrpcStatus.INTERNAL, refusal.get()));
      }
      answer.addContainerResponses(ContainerAllocateResponse.getDefaultInstance());
    }
    return plugin.takesSeconds() == 0
        ? Future.succeededFuture(answer.build())
        : vertx.timer(plugin.takesSeconds(), TimeUnit.SECONDS).map(due -> answer.build());
  }

  @Override
  public void close() throws IOException {
    server.close().await();
    vertx.close().await();
    Files.deleteIfExists(socket);
  }
}
