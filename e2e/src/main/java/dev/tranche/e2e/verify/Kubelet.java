package dev.tranche.e2e.verify;

import dev.tranche.api.kubelet.AllocateRequest;
import dev.tranche.api.kubelet.AllocateResponse;
import dev.tranche.api.kubelet.ContainerAllocateRequest;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcClient;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcService;
import dev.tranche.api.podresources.ListPodResourcesRequest;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResourcesListerGrpcService;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.server.GrpcServer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A kubelet without pods: it takes registrations, follows the devices, and asks for some. */
final class Kubelet implements AutoCloseable {
  private static final int ANSWER_LIMIT_S = 10;

  private final Vertx vertx = Vertx.vertx();
  private final GrpcClient client = GrpcClient.client(vertx);
  private final Path folder;
  // By resource.
  private final Map<String, RegisterRequest> registered = new ConcurrentHashMap<>();
  private final Map<String, List<Device>> devices = new ConcurrentHashMap<>();

  /** Serves in this folder. */
  Kubelet(Path folder) {
    this.folder = folder;
    var registration =
        new RegistrationGrpcService() {
          @Override
          public Future<Empty> register(RegisterRequest request) {
            registered.put(request.getResourceName(), request);
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
    serve(socket(), GrpcServer.server(vertx).addService(registration));
    serve(podResources(), GrpcServer.server(vertx).addService(noPods));
  }

  private void serve(Path socket, GrpcServer service) {
    vertx.createHttpServer().requestHandler(service).listen(at(socket)).await();
  }

  Path socket() {
    return folder.resolve("kubelet.sock");
  }

  Path podResources() {
    return folder.resolve("pod-resources.sock");
  }

  private static SocketAddress at(Path socket) {
    return SocketAddress.domainSocketAddress(socket.toString());
  }

  private void follow(RegisterRequest plugin) {
    client
        .request(at(folder.resolve(plugin.getEndpoint())), DevicePluginGrpcClient.ListAndWatch)
        .onSuccess(
            request -> {
              request
                  .response()
                  .onSuccess(
                      r ->
                          r.handler(
                              (ListAndWatchResponse now) ->
                                  devices.put(plugin.getResourceName(), now.getDevicesList())));
              request.end(Empty.getDefaultInstance());
            });
  }

  /** By resource. */
  Map<String, RegisterRequest> registered() {
    return Map.copyOf(registered);
  }

  /** By resource. */
  Map<String, List<Device>> devices() {
    return Map.copyOf(devices);
  }

  /** What a container with these devices would be started with. */
  ContainerAllocateResponse allocate(String resource, List<String> ids) throws TimeoutException {
    RegisterRequest plugin = registered.get(resource);
    if (plugin == null) {
      throw new IllegalArgumentException(resource + " is not registered");
    }
    var container = ContainerAllocateRequest.newBuilder().addAllDevicesIds(ids);
    var request = AllocateRequest.newBuilder().addContainerRequests(container).build();
    AllocateResponse answer =
        DevicePluginGrpcClient.create(client, at(folder.resolve(plugin.getEndpoint())))
            .allocate(request)
            .await(ANSWER_LIMIT_S, TimeUnit.SECONDS);
    return answer.getContainerResponses(0);
  }

  @Override
  public void close() {
    vertx.close().await();
  }
}
