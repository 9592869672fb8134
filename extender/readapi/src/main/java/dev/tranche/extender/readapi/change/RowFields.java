package dev.tranche.extender.readapi.change;

import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a type of row, to compare rows by.
 *
 * @param identity the fields by which readers identify a row
 */
record RowFields<R extends Record>(List<RecordComponent> all, List<String> identity) {
  static <R extends Record> RowFields<R> of(Class<R> type, List<String> identity) {
    return new RowFields<>(List.of(type.getRecordComponents()), identity);
  }

  /**
   * Returns what readers of an earlier row need: the fields that identify it, and those that are
   * new; null is a field that is gone. Empty if nothing differs.
   */
  Optional<Map<String, @Nullable Object>> difference(R then, R now) {
    if (now.equals(then)) {
      return Optional.empty();
    }
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    for (RecordComponent field : all) {
      Object value = value(field, now);
      if (identity.contains(field.getName()) || !Objects.equals(value, value(field, then))) {
        fields.put(field.getName(), value);
      }
    }
    return Optional.of(fields);
  }

  private static @Nullable Object value(RecordComponent field, Record row) {
    try {
      return field.getAccessor().invoke(row);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot read " + field, e);
    }
  }
}
