package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.http.HttpConnection;
import io.vertx.grpc.server.GrpcServerRequest;
import io.vertx.grpc.server.GrpcServerResponse;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class DeviceStreamsTest {
  private final List<Object> lists = new ArrayList<>();
  private final List<Promise<Void>> writes = new ArrayList<>();

  private static ListAndWatchResponse list(String id) {
    return ListAndWatchResponse.newBuilder().addDevices(Device.newBuilder().setID(id)).build();
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            DeviceStreamsTest.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, args) ->
                switch (method.getName()) {
                  case "hashCode" -> System.identityHashCode(self);
                  case "equals" -> self == args[0];
                  default -> handler.invoke(self, method, args);
                }));
  }

  /** A list has up to 10,000 replicas: a kubelet that hangs must not fill the heap. */
  @Test
  @SuppressWarnings("unchecked")
  void kubeletThatTakesNoList_getsOnlyTheLatestOne_whenItDoes() {
    GrpcServerResponse<Empty, ListAndWatchResponse> response =
        proxy(
            GrpcServerResponse.class,
            (self, method, args) -> {
              if (!method.getName().equals("write")) {
                return self;
              }
              lists.add(args[0]);
              writes.add(Promise.promise());
              return writes.getLast().future();
            });
    HttpConnection connection = proxy(HttpConnection.class, (self, method, args) -> self);
    var opened = new AtomicReference<Handler<Empty>>();
    GrpcServerRequest<Empty, ListAndWatchResponse> request =
        proxy(
            GrpcServerRequest.class,
            (self, method, args) ->
                switch (method.getName()) {
                  case "response" -> response;
                  case "connection" -> connection;
                  case "handler" -> {
                    opened.set((Handler<Empty>) args[0]);
                    yield self;
                  }
                  default -> self;
                });
    var streams = new DeviceStreams(list("a"), () -> {}, () -> {});
    streams.opened(request);
    opened.get().handle(Empty.getDefaultInstance());
    streams.publish(list("b"));
    streams.publish(list("c"));
    assertThat(lists).containsExactly(list("a"));
    writes.getFirst().complete();
    assertThat(lists).containsExactly(list("a"), list("c"));
    writes.getLast().complete();
    assertThat(lists).hasSize(2);
  }
}
