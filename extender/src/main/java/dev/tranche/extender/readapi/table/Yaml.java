package dev.tranche.extender.readapi.table;

import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Writes JSON in the block style of YAML. Strings that YAML might read as another type are quoted.
 */
final class Yaml {
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z/][A-Za-z0-9._/-]*");
  private static final Set<String> OF_OTHER_TYPES =
      Set.of("true", "false", "null", "yes", "no", "on", "off", "y", "n");
  private static final String INDENT = "  ";

  private final StringBuilder text = new StringBuilder();

  private Yaml() {}

  static String of(JsonObject json) {
    var yaml = new Yaml();
    yaml.object(json, "");
    return yaml.text.toString();
  }

  private void object(JsonObject json, String indent) {
    String before = "";
    for (Map.Entry<String, Object> field : json) {
      text.append(before).append(scalar(field.getKey())).append(':');
      before = indent;
      switch (field.getValue()) {
        case JsonObject object when !object.isEmpty() -> {
          text.append('\n').append(indent).append(INDENT);
          object(object, indent + INDENT);
        }
        case JsonArray array when !array.isEmpty() -> {
          text.append('\n');
          array(array, indent);
        }
        case null, default -> text.append(' ').append(scalar(field.getValue())).append('\n');
      }
    }
  }

  private void array(JsonArray array, String indent) {
    for (Object item : array) {
      text.append(indent).append("- ");
      if (item instanceof JsonObject object && !object.isEmpty()) {
        object(object, indent + INDENT);
      } else {
        text.append(scalar(item)).append('\n');
      }
    }
  }

  /** Writes all but plain strings as JSON, which is valid YAML. */
  private static String scalar(@Nullable Object value) {
    return value instanceof String text
            && PLAIN.matcher(text).matches()
            && !OF_OTHER_TYPES.contains(text.toLowerCase(Locale.ROOT))
        ? text
        : escaped(Json.encode(value));
  }

  /**
   * Escapes characters that JSON does not: those that move a terminal's cursor or change the
   * direction of text.
   */
  private static String escaped(String json) {
    var escaped = new StringBuilder(json.length());
    for (int i = 0; i < json.length(); i++) {
      char c = json.charAt(i);
      switch (Character.getType(c)) {
        case Character.CONTROL,
            Character.FORMAT,
            Character.LINE_SEPARATOR,
            Character.PARAGRAPH_SEPARATOR ->
            escaped.append("\\u%04x".formatted((int) c));
        default -> escaped.append(c);
      }
    }
    return escaped.toString();
  }
}
