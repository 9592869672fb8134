package dev.tranche.e2e.bench.attack;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.client.LocalPortForward;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;

/** Questions of what-if, as a viewer posts them. */
final class WhatIfBodies {
  private static final int PORT = 9445;
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private WhatIfBodies() {}

  /** Posts each of them to every extender, and returns the status of each answer. */
  static String post(Tranche tranche) throws IOException, InterruptedException {
    var answers = new StringJoiner(", ");
    var http = HttpClient.newHttpClient();
    for (var extender : tranche.parts("extender")) {
      var metadata = extender.getMetadata();
      for (var body : bodies().entrySet()) {
        try (LocalPortForward forward =
            tranche
                .client()
                .pods()
                .inNamespace(metadata.getNamespace())
                .withName(metadata.getName())
                .portForward(PORT)) {
          answers.add(body.getKey() + " " + status(http, forward.getLocalPort(), body.getValue()));
        }
      }
    }
    return answers.toString();
  }

  private static String status(HttpClient http, int port, String body) throws InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/api/v1/what-if"))
            .timeout(LIMIT)
            .header("Content-Type", body.startsWith("{") ? "application/json" : "application/yaml")
            .POST(BodyPublishers.ofString(body))
            .build();
    try {
      return String.valueOf(http.send(request, BodyHandlers.ofString()).statusCode());
    } catch (IOException none) {
      return "no answer";
    }
  }

  private static Map<String, String> bodies() {
    var bodies = new LinkedHashMap<String, String>();
    bodies.put("empty objects", "{\"spec\":{\"containers\":[" + "{},".repeat(699_000) + "{}]}}");
    bodies.put("annotation", annotation());
    bodies.put("million", million());
    bodies.put("aliases", aliases());
    return bodies;
  }

  /** Each level stands for nine of the one before it. */
  private static String aliases() {
    var yaml = new StringBuilder("apiVersion: v1\nkind: Pod\na0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++) {
      yaml.append(
          "a%d: &a%d [%s]\n".formatted(i, i, ("*a" + (i - 1) + ",").repeat(8) + "*a" + (i - 1)));
    }
    return yaml.toString();
  }

  private static String million() {
    return pod("", 55, "1000000");
  }

  private static String annotation() {
    return pod("\"" + Names.GPUS_REQUESTED + "\":\"" + "a=1,".repeat(150_000) + "a=1\"", 500, "1");
  }

  private static String pod(String annotations, int containers, String replicas) {
    var list = new StringJoiner(",");
    for (int i = 0; i < containers; i++) {
      list.add(
          "{\"name\":\"c%d\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%s\"}}}"
              .formatted(i, replicas));
    }
    return "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"annotations\":{%s}},\"spec\":{\"containers\":[%s]}}"
        .formatted(annotations, list);
  }
}
