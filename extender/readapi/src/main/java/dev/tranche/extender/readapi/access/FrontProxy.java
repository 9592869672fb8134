package dev.tranche.extender.readapi.access;

import dev.tranche.process.CommonName;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.net.PemTrustOptions;
import java.io.ByteArrayInputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * How the API server shows whose request it proxies: by a client certificate of its own, and by
 * headers that name the user. It publishes both in the ConfigMap {@code
 * extension-apiserver-authentication}.
 *
 * @param authorities the certificate authorities (PEM) that sign its client certificate
 * @param names common names that its certificate may have; empty: any
 * @param userHeaders the first one that is set names the user
 */
public record FrontProxy(
    String authorities,
    Set<String> names,
    List<String> userHeaders,
    List<String> uidHeaders,
    List<String> groupHeaders,
    List<String> extraPrefixes) {
  /** What the ConfigMap says. */
  public sealed interface Read {
    record Usable(FrontProxy proxy) implements Read {}

    /**
     * @param why a sentence
     */
    record Unusable(String why) implements Read {}
  }

  /** Reads the ConfigMap's data. */
  public static Read of(Map<String, String> data) {
    String authorities = data.getOrDefault("requestheader-client-ca-file", "").strip();
    if (authorities.isEmpty()) {
      return new Read.Unusable(
          "it has no requestheader-client-ca-file: the API server has no aggregation layer");
    }
    try {
      var proxy =
          new FrontProxy(
              authorities,
              Set.copyOf(list(data, "requestheader-allowed-names")),
              list(data, "requestheader-username-headers"),
              list(data, "requestheader-uid-headers"),
              list(data, "requestheader-group-headers"),
              list(data, "requestheader-extra-headers-prefix"));
      if (proxy.userHeaders.isEmpty()) {
        return new Read.Unusable("it has no requestheader-username-headers");
      }
      return proxy.names.isEmpty()
              && shareOne(authorities, data.getOrDefault("client-ca-file", "").strip())
          ? new Read.Unusable(
              "its requestheader-client-ca-file also signs users' certificates, and"
                  + " requestheader-allowed-names is empty, so any user could pose as any other")
          : new Read.Usable(proxy);
    } catch (CertificateException malformed) {
      return new Read.Unusable(
          "its requestheader-allowed-names is empty, and client-ca-file or"
              + " requestheader-client-ca-file cannot be read: "
              + malformed.getMessage());
    } catch (DecodeException | ClassCastException malformed) {
      return new Read.Unusable("a field is no list of texts: " + malformed.getMessage());
    }
  }

  /** Whether two bundles have an authority in common; a renewed certificate may have its key. */
  private static boolean shareOne(String proxies, String users) throws CertificateException {
    return !users.isEmpty() && !Collections.disjoint(keys(proxies), keys(users));
  }

  private static Set<PublicKey> keys(String bundle) throws CertificateException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(bundle.getBytes(StandardCharsets.UTF_8)))
        .stream()
        .map(Certificate::getPublicKey)
        .collect(Collectors.toSet());
  }

  private static List<String> list(Map<String, String> data, String field) {
    List<String> texts = new ArrayList<>();
    for (Object each : new JsonArray(data.getOrDefault(field, "[]"))) {
      texts.add((String) each);
    }
    return List.copyOf(texts);
  }

  public PemTrustOptions trust() {
    return new PemTrustOptions().addCertValue(Buffer.buffer(authorities));
  }

  /**
   * Whether a certificate is the API server's.
   *
   * @param verified a certificate that one of the authorities has signed
   */
  public boolean admits(Certificate verified) {
    return names.isEmpty() || CommonName.of(verified).filter(names::contains).isPresent();
  }

  /** Returns the user whom the headers name; empty if they name none. */
  public Optional<Caller.User> user(MultiMap headers) {
    return first(headers, userHeaders)
        .map(
            name ->
                new Caller.User(
                    name, first(headers, uidHeaders).orElse(""), groups(headers), extra(headers)));
  }

  private static Optional<String> first(MultiMap headers, List<String> names) {
    return names.stream()
        .map(headers::get)
        .filter(value -> value != null && !value.isEmpty())
        .findFirst();
  }

  private List<String> groups(MultiMap headers) {
    return groupHeaders.stream().flatMap(name -> headers.getAll(name).stream()).toList();
  }

  /** The name of such a header is a key, escaped as in a URL and in lower case. */
  private Map<String, List<String>> extra(MultiMap headers) {
    Map<String, List<String>> extra = new LinkedHashMap<>();
    for (String header : headers.names()) {
      String lower = header.toLowerCase(Locale.ROOT);
      for (String prefix : extraPrefixes) {
        String start = prefix.toLowerCase(Locale.ROOT);
        if (lower.startsWith(start)) {
          extra.putIfAbsent(key(lower.substring(start.length())), headers.getAll(header));
        }
      }
    }
    return extra;
  }

  private static String key(String escaped) {
    try {
      // Unlike in a form, a plus sign stands for itself.
      return URLDecoder.decode(escaped.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return escaped;
    }
  }
}
