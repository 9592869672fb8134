package dev.tranche.extender.client.transport;

import io.fabric8.kubernetes.client.http.WebSocket;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientWebSocket;
import io.vertx.core.http.WebSocketConnectOptions;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** A WebSocket: hands over one message, and the next when it is asked for. */
final class Socket implements WebSocket {
  private final ClientWebSocket socket;
  private final Listener listener;
  private final AtomicLong queuedBytes = new AtomicLong();

  /** The listener hears of one end; on the event loop. */
  private boolean ended;

  /** We have ended it, and want to hear of nothing but the other side's end. */
  private volatile boolean closing;

  Socket(ClientWebSocket socket, Listener listener) {
    this.socket = socket;
    this.listener = listener;
  }

  /** On the event loop. */
  Future<?> connect(WebSocketConnectOptions options) {
    socket.binaryMessageHandler(
        message -> handed(() -> listener.onMessage(this, ByteBuffer.wrap(message.getBytes()))));
    socket.textMessageHandler(text -> handed(() -> listener.onMessage(this, text)));
    socket.endHandler(v -> ended(this::closed));
    socket.exceptionHandler(failure -> ended(() -> failed(failure)));
    return socket.connect(options).onSuccess(v -> listener.onOpen(this));
  }

  /** A message may be of several frames, so it is not frames that are asked for. */
  private void handed(Runnable message) {
    if (ended || closing) {
      return;
    }
    socket.pause();
    try {
      message.run();
    } catch (Throwable refused) {
      ended(() -> failed(refused));
    }
  }

  private void ended(Runnable end) {
    if (!ended) {
      ended = true;
      end.run();
    }
  }

  private void closed() {
    String reason = Objects.requireNonNullElse(socket.closeReason(), "");
    listener.onClose(this, socket.closeStatusCode(), reason);
  }

  /** Also when a message was too large, which would be missing if we went on. */
  private void failed(Throwable failure) {
    socket.close();
    listener.onError(this, Transport.asIo(failure));
  }

  @Override
  public void request() {
    socket.resume();
  }

  @Override
  public boolean send(ByteBuffer message) {
    var bytes = new byte[message.remaining()];
    message.duplicate().get(bytes);
    if (socket.isClosed()) {
      return false;
    }
    queuedBytes.addAndGet(bytes.length);
    socket
        .writeBinaryMessage(Buffer.buffer(bytes))
        .onComplete(written -> queuedBytes.addAndGet(-bytes.length));
    return true;
  }

  @Override
  public long queueSize() {
    return queuedBytes.get();
  }

  @Override
  public boolean sendClose(int code, String reason) {
    if (socket.isClosed()) {
      return false;
    }
    closing = true;
    socket.close((short) code, reason);
    // Behind messages that nobody asked for, the other side's end would never be heard.
    socket.resume();
    return true;
  }
}
