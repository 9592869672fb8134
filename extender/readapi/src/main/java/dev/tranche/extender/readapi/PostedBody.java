package dev.tranche.extender.readapi;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import java.util.concurrent.Semaphore;

/** A request's body while it is read and answered. Confined to the request's event loop. */
final class PostedBody {
  /** A buffer grows to twice its size, so that it takes at most twice what has arrived. */
  private static final int GROWTH = 2;

  private final Semaphore budget;
  private final int bytesMax;
  private final Buffer bytes = Buffer.buffer();
  private int charged;
  private boolean released;

  sealed interface Read {
    record Whole(Buffer bytes) implements Read {}

    record TooLarge() implements Read {}

    /** Others' bodies take the room that there is. */
    record NoRoom() implements Read {}
  }

  /**
   * @param budget the bytes that all bodies may take
   */
  PostedBody(Semaphore budget, int bytesMax) {
    this.budget = budget;
    this.bytesMax = bytesMax;
  }

  /** Reads the body; the rest of one that is refused is discarded. */
  Future<Read> read(HttpServerRequest request) {
    Promise<Read> read = Promise.promise();
    request.handler(piece -> append(piece, read));
    request.endHandler(end -> read.tryComplete(new Read.Whole(bytes)));
    request.exceptionHandler(read::tryFail);
    request.resume();
    return read.future();
  }

  private void append(Buffer piece, Promise<Read> read) {
    if (released || read.future().isComplete()) {
      return;
    }
    int charge = GROWTH * piece.length();
    if (bytes.length() + piece.length() > bytesMax) {
      read.complete(new Read.TooLarge());
    } else if (budget.tryAcquire(charge)) {
      charged += charge;
      bytes.appendBuffer(piece);
    } else {
      read.complete(new Read.NoRoom());
    }
  }

  /** Gives the room back; further calls have no effect. */
  void release() {
    if (!released) {
      released = true;
      budget.release(charged);
    }
  }
}
