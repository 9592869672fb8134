package dev.tranche.extender.readapi.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** Writes schemas as types of the page. */
final class TypeScript {
  private TypeScript() {}

  static String of(Map<String, ObjectNode> schemas) {
    return schemas.entrySet().stream()
        .map(each -> "export type %s = %s;\n".formatted(each.getKey(), type(each.getValue())))
        .collect(
            Collectors.joining("\n", "/** The API's records; written by the build. */\n\n", ""));
  }

  private static String type(JsonNode schema) {
    if (schema.has("$ref")) {
      String reference = schema.get("$ref").textValue();
      return reference.substring(reference.lastIndexOf('/') + 1);
    }
    if (schema.has("enum")) {
      return joined(schema.get("enum"), JsonNode::toString);
    }
    if (schema.has("anyOf")) {
      return joined(schema.get("anyOf"), TypeScript::type);
    }
    JsonNode type = schema.get("type");
    return type.isArray() ? joined(type, name -> type(name, schema)) : type(type, schema);
  }

  private static String type(JsonNode name, JsonNode schema) {
    return switch (name.textValue()) {
      case "integer", "number" -> "number";
      case "array" -> "readonly (%s)[]".formatted(type(schema.get("items")));
      case "object" ->
          schema.has("properties")
              ? fields(schema)
              : "Readonly<Record<string, %s>>".formatted(type(schema.get("additionalProperties")));
      default -> name.textValue();
    };
  }

  private static String fields(JsonNode schema) {
    return schema.get("properties").properties().stream()
        .map(
            field ->
                "  readonly %s%s: %s;\n"
                    .formatted(
                        field.getKey(),
                        isRequired(schema, field.getKey()) ? "" : "?",
                        type(field.getValue())))
        .collect(Collectors.joining("", "{\n", "}"));
  }

  private static boolean isRequired(JsonNode schema, String field) {
    return StreamSupport.stream(schema.path("required").spliterator(), false)
        .anyMatch(name -> name.textValue().equals(field));
  }

  private static String joined(JsonNode parts, Function<JsonNode, String> shown) {
    return StreamSupport.stream(parts.spliterator(), false)
        .map(shown)
        .collect(Collectors.joining(" | "));
  }
}
