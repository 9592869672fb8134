package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.process.listen.StalledCall;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.grpc.server.GrpcServer;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

final class DeviceStreamsIT {
  private static final ListAndWatchResponse LIST =
      ListAndWatchResponse.newBuilder().addDevices(Device.newBuilder().setID("GPU-a::0")).build();

  private final Vertx vertx = Vertx.vertx();

  /** Vert.x queues the end behind the list, and fails on it when the connection closes. */
  @Test
  void end_whileTheKubeletTakesNoList_logsNoException() throws Exception {
    var kubelet = new StalledCall();
    var ended = new AtomicReference<DeviceStreams>();
    var grpc = GrpcServer.server(vertx);
    grpc.callHandler(
        DevicePluginGrpcService.ListAndWatch,
        call -> {
          var streams =
              new DeviceStreams(
                  LIST,
                  () ->
                      vertx.runOnContext(
                          opened -> {
                            ended.get().end();
                            call.connection().close();
                          }),
                  () -> {});
          ended.set(streams);
          streams.opened(call);
        });
    HttpServer server =
        vertx.createHttpServer().requestHandler(grpc).listen(0, "127.0.0.1").await();
    kubelet.run(server.actualPort(), "v1beta1.DevicePlugin/ListAndWatch", true);
    vertx.close().await();
    assertThat(ended.get().anyOpen()).isFalse();
    assertThat(kubelet.logged()).isEmpty();
  }
}
