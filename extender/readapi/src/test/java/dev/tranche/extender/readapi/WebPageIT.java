package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Vertx;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The page's files over HTTP. */
final class WebPageIT {
  private static final Pattern SCRIPT = Pattern.compile("src=\"(app-[0-9a-f]{12}\\.js)\"");

  private final Vertx vertx = Vertx.vertx();
  private final ScriptedApi api = new ScriptedApi(vertx);
  private final HttpClient http = HttpClient.newHttpClient();

  @AfterEach
  void stop() {
    api.close();
    http.close();
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }

  @Test
  void page_letsNothingInFromElsewhere_andIsAskedForAnew() throws Exception {
    HttpResponse<byte[]> page = get("/");
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(header(page, "Content-Type")).isEqualTo("text/html; charset=utf-8");
    assertThat(header(page, "Content-Security-Policy"))
        .contains("default-src 'none'", "frame-ancestors 'none'")
        .doesNotContain("unsafe");
    assertThat(header(page, "X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(header(page, "Cache-Control")).isEqualTo("no-cache");
    HttpResponse<byte[]> again = get("/", "If-None-Match", header(page, "ETag"));
    assertThat(again.statusCode()).isEqualTo(304);
    assertThat(again.body()).isEmpty();
  }

  @Test
  void scripts_areKeptForEver_andGoCompressedToWhoTakesIt() throws Exception {
    var script = SCRIPT.matcher(new String(get("/").body(), StandardCharsets.UTF_8));
    assertThat(script.find()).isTrue();
    String path = "/" + script.group(1);
    HttpResponse<byte[]> plain = get(path);
    assertThat(header(plain, "Cache-Control")).contains("immutable");
    assertThat(plain.headers().firstValue("Content-Encoding")).isEmpty();
    HttpResponse<byte[]> gzipped = get(path, "Accept-Encoding", "br, gzip");
    assertThat(header(gzipped, "Content-Encoding")).isEqualTo("gzip");
    try (var in = new GZIPInputStream(new ByteArrayInputStream(gzipped.body()))) {
      assertThat(in.readAllBytes()).isEqualTo(plain.body());
    }
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private HttpResponse<byte[]> get(String path, String... headers) throws Exception {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + api.port() + path));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
  }
}
