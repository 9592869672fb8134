package dev.tranche.extender.readapi.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.access.FrontProxy.Read;
import io.vertx.core.MultiMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class FrontProxyTest {
  private static final Map<String, String> PUBLISHED =
      Map.of(
          "client-ca-file", "users",
          "requestheader-client-ca-file", "proxies",
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

  /** Anybody with a client certificate could then send any header. */
  @Test
  void authorityOfUsers_needsNames() {
    assertThat(with("client-ca-file", "proxies")).isInstanceOf(Read.Usable.class);
    var data = new HashMap<>(PUBLISHED);
    data.put("client-ca-file", "proxies");
    data.put("requestheader-allowed-names", "[]");
    assertThat(FrontProxy.of(data)).isInstanceOf(Read.Unusable.class);
    assertThat(with("requestheader-allowed-names", "[]")).isInstanceOf(Read.Usable.class);
  }
}
