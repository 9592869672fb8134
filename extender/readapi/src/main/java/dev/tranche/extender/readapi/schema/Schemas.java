package dev.tranche.extender.readapi.schema;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.extender.readapi.json.Limits;
import dev.tranche.extender.readapi.query.KubernetesStatus;
import dev.tranche.extender.readapi.query.Problem.ProblemDocument;
import dev.tranche.extender.readapi.row.Candidate;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.readapi.stream.RowChange;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The JSON schemas of records, by name. A record's schema names those of its fields. */
final class Schemas {
  static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** Schemas that are not named after their record. */
  private static final Map<Class<?>, String> NAMES =
      Map.of(
          Candidate.class, "NodeFit",
          KubernetesStatus.class, "Status",
          ProblemDocument.class, "Problem",
          WhatIfAnswer.class, "WhatIf");

  private final Map<String, ObjectNode> byName = new TreeMap<>();

  Map<String, ObjectNode> byName() {
    return byName;
  }

  /** Returns a reference to the schema of a record or an enum, which it adds if need be. */
  ObjectNode reference(Class<?> type) {
    String name = NAMES.getOrDefault(type, type.getSimpleName());
    if (!byName.containsKey(name)) {
      // Before its fields are read, since one may be of the same type.
      byName.put(name, JSON.objectNode());
      byName.put(name, named(type));
    }
    return reference(name);
  }

  private static ObjectNode reference(String name) {
    return JSON.objectNode().put("$ref", "#/components/schemas/" + name);
  }

  private ObjectNode named(Class<?> type) {
    ObjectNode schema = JSON.objectNode();
    Limits limits = type.getAnnotation(Limits.class);
    if (type.isEnum()) {
      schema.put("type", "string");
      Arrays.stream(type.getEnumConstants())
          .forEach(constant -> schema.withArray("enum").add(constant.toString()));
    } else if (limits != null && !limits.pattern().isEmpty()) {
      schema.put("type", "string").put("pattern", limits.pattern());
    } else {
      object(schema, type, List.of());
    }
    JsonClassDescription description = type.getAnnotation(JsonClassDescription.class);
    if (description != null) {
      schema.put("description", description.value());
    }
    return schema;
  }

  /**
   * @param identity if it has any, these fields alone are required, and the others may be null
   */
  private void object(ObjectNode schema, Class<?> type, List<String> identity) {
    schema.put("type", "object").put("additionalProperties", false);
    ObjectNode properties = JSON.objectNode();
    for (RecordComponent component : type.getRecordComponents()) {
      String name = name(component);
      ObjectNode field = field(component);
      boolean changes = !identity.isEmpty() && !identity.contains(name);
      if (!changes && !isNullable(component.getAnnotatedType())) {
        schema.withArray("required").add(name);
      }
      properties.set(name, changes ? orNull(field) : field);
    }
    schema.set("properties", properties);
  }

  private static ObjectNode orNull(ObjectNode schema) {
    ObjectNode either = JSON.objectNode();
    either.withArray("anyOf").add(schema).add(JSON.objectNode().put("type", "null"));
    return either;
  }

  private static String name(RecordComponent component) {
    JsonProperty renamed = component.getAccessor().getAnnotation(JsonProperty.class);
    return renamed == null ? component.getName() : renamed.value();
  }

  private ObjectNode field(RecordComponent component) {
    Limits limits = component.getAnnotation(Limits.class);
    ObjectNode schema = schema(component.getAnnotatedType(), limits);
    if (limits != null && limits.maxItems() > 0) {
      schema.put("maxItems", limits.maxItems());
    }
    var description = component.getAccessor().getAnnotation(JsonPropertyDescription.class);
    return description == null ? schema : schema.put("description", description.value());
  }

  private ObjectNode schema(AnnotatedType type, @Nullable Limits limits) {
    if (type instanceof AnnotatedParameterizedType generic) {
      return schema(generic, limits);
    }
    Type plain = type.getType();
    if (plain == String.class) {
      return JSON.objectNode().put("type", "string");
    }
    if (plain == Instant.class) {
      return JSON.objectNode().put("type", "string").put("format", "date-time");
    }
    if (plain == boolean.class) {
      return JSON.objectNode().put("type", "boolean");
    }
    if (plain == int.class
        || plain == long.class
        || plain == Integer.class
        || plain == Long.class) {
      return number("integer", limits);
    }
    if (plain == Double.class) {
      return number("number", limits);
    }
    return reference((Class<?>) plain);
  }

  private static ObjectNode number(String type, @Nullable Limits limits) {
    ObjectNode schema =
        JSON.objectNode().put("type", type).put("minimum", limits == null ? 0 : limits.minimum());
    return limits == null || limits.maximum() < 0
        ? schema
        : schema.put("maximum", limits.maximum());
  }

  private ObjectNode schema(AnnotatedParameterizedType type, @Nullable Limits limits) {
    Type raw = ((ParameterizedType) type.getType()).getRawType();
    AnnotatedType last =
        type.getAnnotatedActualTypeArguments()[type.getAnnotatedActualTypeArguments().length - 1];
    if (raw == Map.class) {
      ObjectNode map = JSON.objectNode().put("type", "object");
      map.set("additionalProperties", schema(last, null));
      return map;
    }
    if (raw == RowChange.class) {
      return change((Class<?>) last.getType());
    }
    ObjectNode items = schema(last, limits);
    if (isNullable(last)) {
      String of = items.get("type").textValue();
      items.putArray("type").add(of).add("null");
    }
    ObjectNode array = JSON.objectNode().put("type", "array");
    array.set("items", items);
    return array;
  }

  private ObjectNode change(Class<?> row) {
    String name = row.getSimpleName() + "Change";
    if (!byName.containsKey(name)) {
      ObjectNode schema =
          JSON.objectNode()
              .put(
                  "description",
                  "What of a row changed. A field that is null is gone. Objects and arrays are whole.");
      byName.put(name, schema);
      object(schema, row, row == Gpu.class ? Gpu.IDENTITY : Pod.IDENTITY);
    }
    return reference(name);
  }

  private static boolean isNullable(AnnotatedType type) {
    return type.isAnnotationPresent(Nullable.class);
  }
}
