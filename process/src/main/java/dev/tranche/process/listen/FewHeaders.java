package dev.tranche.process.listen;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import io.netty.handler.codec.http.TooLongHttpHeaderException;

/**
 * The headers of a request, also while its head arrives. Netty bounds their bytes, but a line of
 * four bytes costs a hundred in memory.
 */
final class FewHeaders extends DefaultHttpHeaders {
  static final int HEADERS_MAX = 64;

  static final HttpHeadersFactory FACTORY =
      new HttpHeadersFactory() {
        @Override
        public HttpHeaders newHeaders() {
          return new FewHeaders();
        }

        @Override
        public HttpHeaders newEmptyHeaders() {
          return new FewHeaders();
        }
      };

  @Override
  public HttpHeaders add(CharSequence name, Object value) {
    if (size() >= HEADERS_MAX) {
      throw new TooLongHttpHeaderException(
          "a request has %d headers at most".formatted(HEADERS_MAX));
    }
    return super.add(name, value);
  }
}
