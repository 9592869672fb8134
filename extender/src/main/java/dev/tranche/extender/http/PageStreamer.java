package dev.tranche.extender.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Writes a long page in pieces from a worker thread. Each piece waits until the connection has
 * taken the one before. A page about tens of thousands of GPUs must not be in memory as a whole.
 */
final class PageStreamer extends OutputStream {
  private static final int PIECE_BYTES = 64 * 1024;

  /** Anyone who reaches the port may read slowly. By default Prometheus waits no longer. */
  private static final long PAGE_S_MAX = 10;

  private final HttpServerResponse response;
  private final long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PAGE_S_MAX);

  PageStreamer(HttpServerResponse response) {
    this.response = response;
  }

  OutputStream inPieces() {
    response.setChunked(true);
    return new BufferedOutputStream(this, PIECE_BYTES);
  }

  @Override
  public void write(int octet) throws IOException {
    write(new byte[] {(byte) octet}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    awaitWritten(response.write(Buffer.buffer(length).appendBytes(bytes, offset, length)));
  }

  @Override
  public void close() throws IOException {
    awaitWritten(response.end());
  }

  private void awaitWritten(Future<Void> written) throws IOException {
    try {
      written
          .toCompletionStage()
          .toCompletableFuture()
          .get(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("the page's reader takes no more", e);
    }
  }
}
