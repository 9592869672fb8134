package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.http.WebSocket;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientWebSocket;
import io.vertx.core.http.WebSocketConnectOptions;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** A WebSocket that delivers one message, and the next one when it is requested. */
final class Socket implements WebSocket {
  private final ClientWebSocket socket;
  private final Listener listener;
  private final AtomicLong queuedBytes = new AtomicLong();

  /** Whether the listener has been notified of the end; confined to the event loop. */
  private boolean ended;

  /** We have closed the socket and drop messages until the other side closes it too. */
  private volatile boolean closing;

  Socket(ClientWebSocket socket, Listener listener) {
    this.socket = socket;
    this.listener = listener;
  }

  /** Connects; runs on the event loop. */
  Future<?> connect(WebSocketConnectOptions options) {
    socket.binaryMessageHandler(
        message -> deliver(() -> listener.onMessage(this, ByteBuffer.wrap(message.getBytes()))));
    socket.textMessageHandler(text -> deliver(() -> listener.onMessage(this, text)));
    socket.endHandler(v -> ended(this::closed));
    socket.exceptionHandler(failure -> ended(() -> failed(failure)));
    return socket.connect(options).onSuccess(v -> listener.onOpen(this));
  }

  /**
   * Delivers a message and pauses. A message may have several frames, so messages are requested,
   * not frames.
   */
  private void deliver(Runnable message) {
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

  /** Ends the socket. If a message was too large, it would be missing if we continued. */
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
    // Otherwise the other side's close would stay queued behind messages that nobody requests.
    socket.resume();
    return true;
  }
}
