package dev.tranche.extender.readapi.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.tranche.extender.readapi.access.FrontProxy.Read;
import io.vertx.core.MultiMap;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class FrontProxyTest {
  /** O=system, CN=front-proxy-client; by {@code openssl req -x509 -newkey ec -subj}. */
  private static final String PROXIES =
      """
      -----BEGIN CERTIFICATE-----
      MIIBszCCAVmgAwIBAgIUevfqp8HSik4J9Ks9VDdlyRi2hxIwCgYIKoZIzj0EAwIw
      LjEPMA0GA1UECgwGc3lzdGVtMRswGQYDVQQDDBJmcm9udC1wcm94eS1jbGllbnQw
      IBcNMjYxMTI2MjExMTQyWhgPMjEyNjExMDIyMTExNDJaMC4xDzANBgNVBAoMBnN5
      c3RlbTEbMBkGA1UEAwwSZnJvbnQtcHJveHktY2xpZW50MFkwEwYHKoZIzj0CAQYI
      KoZIzj0DAQcDQgAEsO6sZG19pExVWwei2fa7Q8o6MFAHZCF9JDiqX88FPic6ZZUU
      wpp+D4P1e5gI5re4nIH3WcxP+FE4lx1YXDLf4KNTMFEwHQYDVR0OBBYEFGv/hp6D
      N1kN/Zzdpfu3zWfWfLyCMB8GA1UdIwQYMBaAFGv/hp6DN1kN/Zzdpfu3zWfWfLyC
      MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAIaPCxOxPKU4dKFC
      dXAXuFbKEbqkSS+ZPxXPF9uYx7UNAiAMJgiUucZapJGBXN/UGkqaTqoylXERCBg4
      IU/WaGWmmw==
      -----END CERTIFICATE-----
      """;

  /** CN=front-proxy-client, CN=eve. */
  private static final String EVE_LAST =
      """
      -----BEGIN CERTIFICATE-----
      MIIBrjCCAVOgAwIBAgIUHqcBYKn9N26OCjgd6ChUTlFPJSgwCgYIKoZIzj0EAwIw
      KzEbMBkGA1UEAwwSZnJvbnQtcHJveHktY2xpZW50MQwwCgYDVQQDDANldmUwIBcN
      MjYxMTI2MjExMTQzWhgPMjEyNjExMDIyMTExNDNaMCsxGzAZBgNVBAMMEmZyb250
      LXByb3h5LWNsaWVudDEMMAoGA1UEAwwDZXZlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
      AQcDQgAETC/W8dU+C4w7cYV2RizpeDYCLT58WYelwEcWihaAwyhO4UF4fJzzuZLk
      MPfLMt4S3pT1ledSeyAx0ESxAxDIeaNTMFEwHQYDVR0OBBYEFCibi67rvY/bBf3q
      qvkVK8Z7LzD6MB8GA1UdIwQYMBaAFCibi67rvY/bBf3qqvkVK8Z7LzD6MA8GA1Ud
      EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAPNvPNsr1wQiFXZs2E347DZH
      SQxLn+ybppvGlAsD0IrsAiEA1t4JxeslN2DU76pl1KUjFKuZ4KZ7TsRJ+6xcIQi4
      tK0=
      -----END CERTIFICATE-----
      """;

  /** CN=eve, CN=front-proxy-client. */
  private static final String EVE_FIRST =
      """
      -----BEGIN CERTIFICATE-----
      MIIBrjCCAVOgAwIBAgIUHx1f6bMAtC1kmB7UyDLz3G8XIeUwCgYIKoZIzj0EAwIw
      KzEMMAoGA1UEAwwDZXZlMRswGQYDVQQDDBJmcm9udC1wcm94eS1jbGllbnQwIBcN
      MjYxMTI2MjExMTQzWhgPMjEyNjExMDIyMTExNDNaMCsxDDAKBgNVBAMMA2V2ZTEb
      MBkGA1UEAwwSZnJvbnQtcHJveHktY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0D
      AQcDQgAEweqQF3IP6ud+ZRt9C5PuvOfTuYR6xogwVaGmRTAgO5iVikk4O5/U+bbE
      I6z+iWU/a8d6KhJDcX13K85nG5nByaNTMFEwHQYDVR0OBBYEFNhfU7AeWtMHBr6e
      KLgHOhNtMJFHMB8GA1UdIwQYMBaAFNhfU7AeWtMHBr6eKLgHOhNtMJFHMA8GA1Ud
      EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAO/tgIF6CvwgUuk5fyAP+j8I
      +5RURox9gU0ZJ+oyKZZuAiEApT26VjIoWvPI6RWD2TtxQXgvJ9Hpq/C930MNMWCV
      eZc=
      -----END CERTIFICATE-----
      """;

  /** CN=front-proxy-client+CN=eve. */
  private static final String EVE_BESIDE =
      """
      -----BEGIN CERTIFICATE-----
      MIIBqDCCAU+gAwIBAgIUOFMur5sAUGP8AGw8rH9ndysxuAowCgYIKoZIzj0EAwIw
      KTEnMAoGA1UEAwwDZXZlMBkGA1UEAwwSZnJvbnQtcHJveHktY2xpZW50MCAXDTI2
      MTEyNjIxMTE0M1oYDzIxMjYxMTAyMjExMTQzWjApMScwCgYDVQQDDANldmUwGQYD
      VQQDDBJmcm9udC1wcm94eS1jbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
      AAR9L4g37HbqgnjTXrhrGhe+9jTWQ70uByKxCS+uB/W4vVRuGv6JThppGuUOCXNl
      sjqdgSy8StJBgbTdd22Md/cso1MwUTAdBgNVHQ4EFgQUxh/fiE47MxZJ9tAQe0hd
      +jPv7sIwHwYDVR0jBBgwFoAUxh/fiE47MxZJ9tAQe0hd+jPv7sIwDwYDVR0TAQH/
      BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBoMEUmLmW0fS1gAZVLPJOyeA+XbZPT
      abtjY+/p0LIL6gIgEQBjSEHzUjGECxFLuDS8lKu1Sb49iMydkQgf+hhDUek=
      -----END CERTIFICATE-----
      """;

  private static final Map<String, String> PUBLISHED =
      Map.of(
          "client-ca-file", EVE_FIRST,
          "requestheader-client-ca-file", PROXIES,
          "requestheader-allowed-names", "[\"front-proxy-client\"]",
          "requestheader-username-headers", "[\"X-Remote-User\",\"X-User\"]",
          "requestheader-uid-headers", "[\"X-Remote-Uid\"]",
          "requestheader-group-headers", "[\"X-Remote-Group\"]",
          "requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]");

  private static Read with(String field, String value) {
    var data = new HashMap<>(PUBLISHED);
    data.put(field, value);
    return FrontProxy.of(data);
  }

  private static FrontProxy usable(Read read) {
    assertThat(read).isInstanceOf(Read.Usable.class);
    return ((Read.Usable) read).proxy();
  }

  private static MultiMap headers(String... namesAndValues) {
    var headers = MultiMap.caseInsensitiveMultiMap();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      headers.add(namesAndValues[i], namesAndValues[i + 1]);
    }
    return headers;
  }

  @Test
  void user_isWhomTheHeadersName() {
    FrontProxy proxy = usable(FrontProxy.of(PUBLISHED));
    assertThat(
            proxy.user(
                headers(
                    "x-remote-user", "alice",
                    "X-Remote-Uid", "7",
                    "X-Remote-Group", "team-a",
                    "X-REMOTE-GROUP", "system:authenticated",
                    "X-Remote-Extra-Acme.com%2Fproject", "one",
                    "X-Remote-Extra-Acme.com%2fproject", "two",
                    "X-Remote-Extra-a+b", "c",
                    "X-Remote-Extra-%zz", "odd")))
        .contains(
            new Caller.User(
                "alice",
                "7",
                List.of("team-a", "system:authenticated"),
                Map.of(
                    "acme.com/project", List.of("one", "two"),
                    "a+b", List.of("c"),
                    "%zz", List.of("odd"))));
    assertThat(proxy.user(headers("X-User", "bob")).orElseThrow().name()).isEqualTo("bob");
    assertThat(proxy.user(headers("X-Remote-Group", "system:masters"))).isEmpty();
    assertThat(proxy.user(headers("X-Remote-User", ""))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "requestheader-client-ca-file, '', no aggregation layer",
    "requestheader-username-headers, [], requestheader-username-headers",
    "requestheader-allowed-names, nonsense, no list of texts",
    "requestheader-allowed-names, [1], no list of texts",
  })
  void whatCannotBeUsed_isSaid(String field, String value, String said) {
    assertThat(with(field, value))
        .isInstanceOfSatisfying(
            Read.Unusable.class, unusable -> assertThat(unusable.why()).contains(said));
  }

  /** Go takes the last common name for the user, others the first. */
  @Test
  void certificate_hasOneName() throws Exception {
    FrontProxy proxy = usable(FrontProxy.of(PUBLISHED));
    assertThat(proxy.admits(certificate(PROXIES))).isTrue();
    for (String two : List.of(EVE_LAST, EVE_FIRST, EVE_BESIDE)) {
      assertThat(proxy.admits(certificate(two))).as(two).isFalse();
    }
    assertThat(
            usable(with("requestheader-allowed-names", "[\"other\"]")).admits(certificate(PROXIES)))
        .isFalse();
  }

  private static Certificate certificate(String pem) throws CertificateException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
  }

  /** Anybody with a client certificate could then send any header. */
  @ParameterizedTest
  @MethodSource("bundlesThatShareAnAuthority")
  void authorityOfUsers_needsNames(String users, String proxies) {
    var data = new HashMap<>(PUBLISHED);
    data.put("client-ca-file", users);
    data.put("requestheader-client-ca-file", proxies);
    assertThat(FrontProxy.of(data)).isInstanceOf(Read.Usable.class);
    data.put("requestheader-allowed-names", "[]");
    assertThat(FrontProxy.of(data))
        .isInstanceOfSatisfying(
            Read.Unusable.class,
            unusable -> assertThat(unusable.why()).contains("could pose as any other"));
  }

  static List<Arguments> bundlesThatShareAnAuthority() {
    return List.of(
        arguments(PROXIES, PROXIES),
        arguments(PROXIES.replace("\n", "\r\n"), PROXIES),
        arguments("# users\n" + EVE_FIRST + PROXIES, PROXIES + EVE_LAST),
        arguments(PROXIES + EVE_FIRST, EVE_FIRST + PROXIES));
  }

  @Test
  void otherAuthorities_needNoNames() {
    assertThat(with("requestheader-allowed-names", "[]")).isInstanceOf(Read.Usable.class);
    var data = new HashMap<>(PUBLISHED);
    data.put("requestheader-allowed-names", "[]");
    data.remove("client-ca-file");
    assertThat(FrontProxy.of(data)).isInstanceOf(Read.Usable.class);
    data.put("client-ca-file", "nonsense");
    assertThat(FrontProxy.of(data))
        .isInstanceOfSatisfying(
            Read.Unusable.class, unusable -> assertThat(unusable.why()).contains("cannot be read"));
  }
}
