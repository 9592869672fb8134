package dev.tranche.nodeplugin.health;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class XidPolicyTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|''|79|true",
        "''|''|31|false",
        "79|''|79|false",
        "79,48|''|48|false",
        "all|''|79|false",
        "xids|''|79|false",
        "all|79|79|true",
        "all|79|48|false",
        "''|31|31|true",
        "all|all|13|true",
      })
  void xid_makesUnhealthy(String disabled, String enabled, long xid, boolean unhealthy) {
    assertThat(XidPolicy.parse(disabled, enabled, word -> {}).unhealthy(xid)).isEqualTo(unhealthy);
  }

  @Test
  void page_listsThoseThatApplicationsCause() throws IOException {
    XidPolicy policy = XidPolicy.parse("", "", word -> {});
    String list =
        LongStream.range(1, 1_000)
            .filter(xid -> !policy.unhealthy(xid))
            .mapToObj(Long::toString)
            .collect(Collectors.joining(", "));
    assertThat(Files.readString(Path.of("../docs/operations.md"))).contains("(" + list + ")");
  }

  @Test
  void anythingElse_isIgnored_andNamed_asByNvidias() {
    var sentences = new ArrayList<String>();
    XidPolicy policy = XidPolicy.parse("some,79", "", sentences::add);
    assertThat(policy.unhealthy(79)).isFalse();
    assertThat(policy.unhealthy(48)).isTrue();
    assertThat(sentences)
        .containsExactly(
            "DP_DISABLE_HEALTHCHECKS has \"some\", which is ignored; it is all, xids or"
                + " comma-separated XIDs");
  }
}
