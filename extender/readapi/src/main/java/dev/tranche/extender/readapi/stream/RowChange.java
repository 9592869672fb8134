package dev.tranche.extender.readapi.stream;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What of a row changed: the fields that identify it, and those that are new. A field that is null
 * is gone. Of a row that was not there before, all fields.
 */
@SuppressWarnings("UnusedTypeParameter") // The document tells by it which fields there are.
public record RowChange<R extends Record>(@JsonValue Map<String, @Nullable Object> fields) {}
