package dev.tranche.extender.readapi.query;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.OpenApi;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ListQueryTest {
  private static final List<Field> FIELDS =
      List.of(Field.text("node"), new Field("health", Set.of("Healthy", "Silent"), false));

  @Test
  void nothing_isTheFirstPageOfAll() {
    assertThat(valid()).isEqualTo(new ListQuery(Map.of(), ListQuery.LIMIT_DEFAULT, ""));
  }

  @Test
  void filtersAndLimit_areTaken() {
    assertThat(valid("node", "a", "health", "Silent", "limit", "500"))
        .isEqualTo(new ListQuery(Map.of("node", "a", "health", "Silent"), 500, ""));
  }

  @ParameterizedTest
  @CsvSource({
    "limit, 0, a whole number from 1 to 500",
    "limit, 501, a whole number from 1 to 500",
    "limit, many, a whole number from 1 to 500",
    "limit, '', a whole number from 1 to 500",
    "health, sick, 'Healthy, Silent'",
    "node, '', 1 to 253 characters",
    "nodes, a, 'the parameters node, health, limit, continue'",
    "continue, zzz, metadata.continue of the page before",
  })
  void wrongParameter_isNamedWithItsValueAndWhatIsAllowed(
      String field, String value, String allowed) {
    JsonObject problem = Json.buffer(refused(field, value).document()).toJsonObject();
    assertThat(problem.getInteger("status")).isEqualTo(400);
    JsonObject error = problem.getJsonArray("errors").getJsonObject(0);
    assertThat(error.getString("field")).isEqualTo(field);
    assertThat(error.getString("value")).isEqualTo(value);
    assertThat(error.getString("allowed")).isEqualTo(allowed);
    assertThat(problem.getString("detail"))
        .isEqualTo("%s is \"%s\"; allowed: %s", field, value, allowed);
    OpenApi.assertIs("Problem", problem.encode());
  }

  @Test
  void parameterTwice_isRefused() {
    assertThat(refused("node", "a", "node", "b").detail()).contains("twice");
  }

  @Test
  void longAndUnprintableValues_areShownShortAndEscaped() {
    assertThat(refused("limit", "\u001b[2J" + "9".repeat(10_000)).detail())
        .doesNotContain("\u001b")
        .hasSizeLessThan(200);
  }

  @Test
  void pages_showEveryRowOnce_whateverComesAndGoesBetween() {
    var rows = new ArrayList<>(IntStream.range(0, 25).mapToObj("%03d"::formatted).toList());
    var seen = new ArrayList<String>();
    String position = "";
    for (int page = 0; page < 3; page++) {
      ListQuery query =
          page == 0 ? valid("limit", "10") : valid("limit", "10", "continue", position);
      Page<Row> found = page(rows, query);
      found.rows().forEach(row -> seen.add(row.row()));
      position = Objects.requireNonNullElse(found.metadata().position(), "");
      // The row that the page ended with goes, and one before it comes.
      rows.remove(seen.getLast());
      rows.addFirst("000-");
    }
    assertThat(position).as("the last page").isEmpty();
    assertThat(seen).hasSize(25).doesNotHaveDuplicates();
  }

  @Test
  void page_endsWhenItIsLong() {
    var rows = List.of("a".repeat(Page.BYTES_MAX), "b", "c");
    Page<Row> page = page(rows, valid());
    assertThat(page.rows()).hasSize(1);
    assertThat(page.metadata().remainingItemCount()).isEqualTo(2);
    assertThat(page.metadata().position()).isNotNull();
  }

  private record Row(String row) {}

  private static Page<Row> page(List<String> rows, ListQuery query) {
    return Page.of(rows, row -> row, row -> true, Row::new, query);
  }

  private static ListQuery valid(String... parameters) {
    return ((Parsed.Valid<ListQuery>) parsed(parameters)).value();
  }

  private static Problem refused(String... parameters) {
    return ((Parsed.Refused<ListQuery>) parsed(parameters)).problem();
  }

  private static Parsed<ListQuery> parsed(String... parameters) {
    MultiMap map = MultiMap.caseInsensitiveMultiMap();
    for (int i = 0; i < parameters.length; i += 2) {
      map.add(parameters[i], parameters[i + 1]);
    }
    return ListQuery.parse(map, FIELDS);
  }
}
