package dev.tranche.extender.readapi;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files of the web page, from the jar. They hold no data, so they need no token; the page
 * itself calls the API with one.
 *
 * @param files by path
 */
record WebPage(Map<String, File> files) {
  /** Forbids foreign content, inline content, and framing by other pages. */
  static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
          + " data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private static final String FOLDER = "/dev/tranche/extender/web/";
  private static final String INDEX = "index.html";

  record File(String type, String caching, Buffer gzipped) {}

  static WebPage load() {
    var files = new HashMap<String, File>();
    for (String name : new String(read("files.txt"), StandardCharsets.UTF_8).split("\n")) {
      boolean index = name.equals(INDEX);
      var file =
          new File(
              type(name),
              // The other files get a new name with each change.
              index ? "no-cache" : "public, max-age=31536000, immutable",
              Buffer.buffer(read(name + ".gz")));
      files.put("/" + (index ? "" : name), file);
    }
    return new WebPage(files);
  }

  private static byte[] read(String name) {
    try (@Nullable InputStream in = WebPage.class.getResourceAsStream(FOLDER + name)) {
      if (in == null) {
        throw new IllegalStateException("the jar lacks " + FOLDER + name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String type(String name) {
    return switch (name.substring(name.lastIndexOf('.') + 1)) {
      case "html" -> "text/html; charset=utf-8";
      case "css" -> "text/css; charset=utf-8";
      case "js" -> "text/javascript; charset=utf-8";
      default -> throw new IllegalStateException("no content type is known of " + name);
    };
  }

  /** Answers a request for a file of the page, as every browser takes it: compressed. */
  boolean tryAnswer(HttpServerRequest request) {
    boolean head = HttpMethod.HEAD.equals(request.method());
    File file = files.get(String.valueOf(request.path()));
    if (file == null || !(head || HttpMethod.GET.equals(request.method()))) {
      return false;
    }
    HttpServerResponse response =
        request
            .response()
            .putHeader(HttpHeaders.CACHE_CONTROL, file.caching())
            .putHeader(HttpHeaders.CONTENT_TYPE, file.type())
            .putHeader(HttpHeaders.CONTENT_ENCODING, "gzip")
            .putHeader(HttpHeaders.CONTENT_LENGTH, String.valueOf(file.gzipped().length()))
            .putHeader("Content-Security-Policy", POLICY)
            .putHeader("Cross-Origin-Opener-Policy", "same-origin")
            .putHeader("Referrer-Policy", "no-referrer")
            .putHeader("X-Content-Type-Options", "nosniff");
    var _ = head ? response.end() : response.end(file.gzipped());
    return true;
  }
}
