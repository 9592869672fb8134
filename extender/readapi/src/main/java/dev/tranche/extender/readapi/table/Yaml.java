package dev.tranche.extender.readapi.table;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

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

  static String of(JsonNode json) {
    var yaml = new Yaml();
    yaml.object(json, "");
    return yaml.text.toString();
  }

  private void object(JsonNode json, String indent) {
    String before = "";
    for (Map.Entry<String, JsonNode> field : json.properties()) {
      text.append(before).append(scalar(TextNode.valueOf(field.getKey()))).append(':');
      before = indent;
      switch (field.getValue()) {
        case ObjectNode object when !object.isEmpty() -> {
          text.append('\n').append(indent).append(INDENT);
          object(object, indent + INDENT);
        }
        case ArrayNode array when !array.isEmpty() -> {
          text.append('\n');
          array(array, indent);
        }
        default -> text.append(' ').append(scalar(field.getValue())).append('\n');
      }
    }
  }

  private void array(ArrayNode array, String indent) {
    for (JsonNode item : array) {
      text.append(indent).append("- ");
      if (item instanceof ObjectNode object && !object.isEmpty()) {
        object(object, indent + INDENT);
      } else {
        text.append(scalar(item)).append('\n');
      }
    }
  }

  /** Writes all but plain strings as JSON, which is valid YAML. */
  private static String scalar(JsonNode value) {
    return value.isTextual()
            && PLAIN.matcher(value.textValue()).matches()
            && !OF_OTHER_TYPES.contains(value.textValue().toLowerCase(Locale.ROOT))
        ? value.textValue()
        : escaped(value.toString());
  }

  /**
   * Escapes characters that JSON does not: those that move a terminal's cursor or change the
   * direction of text.
   */
  static String escaped(String json) {
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
