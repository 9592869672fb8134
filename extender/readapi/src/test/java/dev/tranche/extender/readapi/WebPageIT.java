package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Vertx;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The page's files over HTTP. */
final class WebPageIT {
  private static final Pattern SCRIPT = Pattern.compile("src=\"(app-[0-9a-f]{12}\\.js)\"");

  @AutoClose private final Vertx vertx = Vertx.vertx();
  @AutoClose private final ScriptedApi api = new ScriptedApi(vertx);
  @AutoClose private final HttpClient http = HttpClient.newHttpClient();

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
  }

  @Test
  void scripts_areKeptForEver_andCompressed() throws Exception {
    var script = SCRIPT.matcher(new String(unzipped(get("/")), StandardCharsets.UTF_8));
    assertThat(script.find()).isTrue();
    HttpResponse<byte[]> answer = get("/" + script.group(1));
    assertThat(header(answer, "Cache-Control")).contains("immutable");
    assertThat(header(answer, "Content-Encoding")).isEqualTo("gzip");
    assertThat(new String(unzipped(answer), StandardCharsets.UTF_8)).contains("resourceVersion");
  }

  private static byte[] unzipped(HttpResponse<byte[]> answer) throws IOException {
    try (var in = new GZIPInputStream(new ByteArrayInputStream(answer.body()))) {
      return in.readAllBytes();
    }
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private HttpResponse<byte[]> get(String path) throws Exception {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + api.port() + path));
    return http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
  }
}
