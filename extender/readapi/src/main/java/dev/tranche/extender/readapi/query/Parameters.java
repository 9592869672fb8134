package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.query.Problem.Invalid;
import io.vertx.core.MultiMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Reads the parameters of a request, each at most once. */
public final class Parameters {
  private static final int CHARS_MAX = 253;

  private Parameters() {}

  /**
   * A parameter that a request may have.
   *
   * @param values that it may have; empty for any text
   * @param unbounded whether its value is judged elsewhere
   */
  public record Field(String name, Set<String> values, boolean unbounded) {

    public static Field text(String name) {
      return new Field(name, Set.of(), false);
    }

    public static Field any(String name) {
      return new Field(name, Set.of(), true);
    }

    private Optional<String> allowedIfInvalid(String value) {
      if (!unbounded && (value.isEmpty() || value.length() > CHARS_MAX)) {
        return Optional.of("1 to %d characters".formatted(CHARS_MAX));
      }
      return values.isEmpty() || values.contains(value)
          ? Optional.empty()
          : Optional.of(String.join(", ", new TreeSet<>(values)));
    }
  }

  /** What was read, or why it is refused. */
  public sealed interface Parsed<T> {
    record Valid<T>(T value) implements Parsed<T> {}

    record Refused<T>(Problem problem) implements Parsed<T> {}

    static <T> Parsed<T> refused(String field, String value, String allowed) {
      return new Refused<>(Problem.badRequest(new Invalid(field, value, allowed)));
    }

    default <R> Parsed<R> then(Function<T, Parsed<R>> next) {
      return switch (this) {
        case Valid<T>(T value) -> next.apply(value);
        case Refused<T>(Problem problem) -> new Refused<>(problem);
      };
    }
  }

  /** Returns the values by name. */
  public static Parsed<Map<String, String>> read(MultiMap parameters, List<Field> fields) {
    var values = new LinkedHashMap<String, String>();
    for (var parameter : parameters) {
      String name = parameter.getKey();
      String value = parameter.getValue();
      Optional<Field> field = fields.stream().filter(each -> each.name().equals(name)).findFirst();
      if (field.isEmpty()) {
        return Parsed.refused(name, value, names(fields));
      }
      if (values.put(name, value) != null) {
        return Parsed.refused(name, value, "one value; the parameter is there twice");
      }
      Optional<String> allowed = field.get().allowedIfInvalid(value);
      if (allowed.isPresent()) {
        return Parsed.refused(name, value, allowed.get());
      }
    }
    return new Parsed.Valid<>(values);
  }

  private static String names(List<Field> fields) {
    return fields.isEmpty()
        ? "no parameters"
        : fields.stream()
            .map(Field::name)
            .collect(
                Collectors.joining(
                    ", ", fields.size() == 1 ? "the parameter " : "the parameters ", ""));
  }
}
