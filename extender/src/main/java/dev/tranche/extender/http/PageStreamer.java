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
import org.jspecify.annotations.Nullable;

/**
 * Writes a long page in pieces from a worker thread. Each piece waits until the connection has
 * taken the one before. A page about tens of thousands of GPUs must not be in memory as a whole.
 */
final class PageStreamer extends OutputStream implements ScrapePlaces.Scrape {
  private static final int PIECE_BYTES = 64 * 1024;

  /** The time limit for each piece; a slower reader is disconnected. */
  private static final long WRITE_S_MAX = 20;

  private final HttpServerResponse response;

  /** When the piece was written that the connection has not taken yet; null if there is none. */
  private volatile @Nullable Long writtenNanos;

  /** How long earlier pieces have waited. */
  private volatile long waitedNanos;

  PageStreamer(HttpServerResponse response) {
    this.response = response;
  }

  OutputStream inPieces() {
    response.setChunked(true);
    return new BufferedOutputStream(this, PIECE_BYTES);
  }

  @Override
  public long stalledMs() {
    Long since = writtenNanos;
    long now = since == null ? 0 : System.nanoTime() - since;
    return TimeUnit.NANOSECONDS.toMillis(waitedNanos + now);
  }

  /** Fails the write that is waited for. */
  @Override
  public void abort() {
    var _ = response.reset();
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
    long startNanos = System.nanoTime();
    writtenNanos = startNanos;
    try {
      written.toCompletionStage().toCompletableFuture().get(WRITE_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("the page's reader takes no more", e);
    } finally {
      writtenNanos = null;
      long before = waitedNanos;
      waitedNanos = before + System.nanoTime() - startNanos;
    }
  }
}
