package dev.tranche.extender.readapi.query;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Corpus;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.vertx.core.MultiMap;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Any query is a list or a history, or is refused with what is allowed. */
public class ListQueryFuzzTest {
  private static final List<Parameters.Field> FIELDS =
      List.of(
          Parameters.Field.text("namespace"),
          new Parameters.Field("health", Set.of("ok", "failed"), false));

  @Test
  void corpus() throws Exception {
    Corpus.replay(ListQueryFuzzTest.class, ListQueryFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] input) {
    MultiMap parameters = MultiMap.caseInsensitiveMultiMap();
    try {
      new QueryStringDecoder(new String(input, UTF_8), false).parameters().forEach(parameters::add);
    } catch (IllegalArgumentException refused) {
      // Vert.x refuses the request before it reaches us.
      return;
    }
    if (ListQuery.parse(parameters, FIELDS) instanceof Parameters.Parsed.Valid<ListQuery> valid) {
      assertThat(valid.value().limit()).isBetween(1, ListQuery.LIMIT_MAX);
    }
  }
}
