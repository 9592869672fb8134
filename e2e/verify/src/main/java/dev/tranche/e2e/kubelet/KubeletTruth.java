package dev.tranche.e2e.kubelet;

import dev.tranche.api.podresources.ListPodResourcesRequest;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.api.podresources.PodResourcesListerGrpcClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.InvalidStatusException;
import io.vertx.grpc.common.GrpcStatus;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A kubelet's PodResources API, asked by the test itself and not by what it tests. */
public record KubeletTruth(ListPodResourcesResponse response) {
  private static final Vertx VERTX = Vertx.vertx();
  private static final int RETRY_MS = 100;

  /** The kubelet answers 10 calls at once and then 100 a second, the node plugin's included. */
  public static KubeletTruth of(Path socket) {
    GrpcClient client = GrpcClient.client(VERTX);
    try {
      return new KubeletTruth(list(client, socket).await(20, TimeUnit.SECONDS));
    } catch (TimeoutException e) {
      throw new AssertionError("the kubelet did not answer at " + socket, e);
    } finally {
      client.close();
    }
  }

  private static Future<ListPodResourcesResponse> list(GrpcClient client, Path socket) {
    return PodResourcesListerGrpcClient.create(
            client, SocketAddress.domainSocketAddress(socket.toString()))
        .list(ListPodResourcesRequest.getDefaultInstance())
        .recover(
            error ->
                error instanceof InvalidStatusException status
                        && status.actualStatus() == GrpcStatus.RESOURCE_EXHAUSTED
                    ? VERTX
                        .timer(RETRY_MS, TimeUnit.MILLISECONDS)
                        .compose(due -> list(client, socket))
                    : Future.failedFuture(error));
  }

  /** Device ids by container; the kubelet keeps no order. */
  public Map<String, List<String>> devices(String namespace, String pod) {
    var devices = new TreeMap<String, List<String>>();
    for (PodResources of : response.getPodResourcesList()) {
      if (of.getNamespace().equals(namespace) && of.getName().equals(pod)) {
        of.getContainersList()
            .forEach(
                c ->
                    devices.put(
                        c.getName(),
                        c.getDevicesList().stream()
                            .flatMap(d -> d.getDeviceIdsList().stream())
                            .sorted()
                            .toList()));
      }
    }
    return devices;
  }

  /** Every replica that anybody holds, as often as it is held. */
  public List<String> allDevices() {
    return response.getPodResourcesList().stream()
        .flatMap(p -> p.getContainersList().stream())
        .flatMap(c -> c.getDevicesList().stream())
        .flatMap(d -> d.getDeviceIdsList().stream())
        .toList();
  }
}
