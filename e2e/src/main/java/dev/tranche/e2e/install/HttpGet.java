package dev.tranche.e2e.install;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Reads pages of processes of this machine. */
public final class HttpGet {
  private HttpGet() {}

  /** The answer, whatever its status. */
  public static HttpResponse<String> of(HttpClient http, URI page) throws IOException {
    try {
      return http.send(HttpRequest.newBuilder(page).build(), BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /** Returns the page; empty if no process answers. */
  public static String orEmpty(HttpClient http, URI page) {
    try {
      return of(http, page).body();
    } catch (IOException silent) {
      return "";
    }
  }
}
