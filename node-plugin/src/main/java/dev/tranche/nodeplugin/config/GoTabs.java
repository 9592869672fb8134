package dev.tranche.nodeplugin.config;

/**
 * Replaces the tabs that Go's YAML library takes for spaces: those after the colon of a key, and
 * all between the tokens of a flow collection, as in JSON that is indented by tabs. SnakeYAML
 * refuses them. Tabs that indent a block stay, since both libraries refuse those.
 */
final class GoTabs {
  private static final char NONE = 0;
  // What a quote or a bracket follows where it is no part of a plain scalar.
  private static final String BEFORE_TOKEN = ":-?,[{";

  private final StringBuilder text;
  private int flowDepth;
  private char quote = NONE;
  // The last character of this line that is neither a space nor a tab.
  private char before = NONE;
  private boolean comment;
  // An anchor or a tag, which stands before its token.
  private boolean property;

  private GoTabs(String text) {
    this.text = new StringBuilder(text);
  }

  static String toSpaces(String text) {
    return text.indexOf('\t') < 0 ? text : new GoTabs(text).toSpaces();
  }

  private String toSpaces() {
    for (int at = 0; at < text.length(); at++) {
      char now = text.charAt(at);
      if (now == '\n' || now == '\r') {
        before = NONE;
        comment = false;
        property = false;
      } else if (quote != NONE) {
        at = inQuotes(at, now);
      } else if (!comment) {
        outside(at, now);
      }
    }
    return text.toString();
  }

  /** Returns the index of the character that was read last. */
  private int inQuotes(int at, char now) {
    boolean escaped = quote == '"' && now == '\\';
    boolean doubled =
        quote == '\'' && now == '\'' && at + 1 < text.length() && text.charAt(at + 1) == '\'';
    if (!escaped && !doubled && now == quote) {
      quote = NONE;
      before = now;
    }
    return escaped || doubled ? at + 1 : at;
  }

  private void outside(int at, char now) {
    boolean space = now == ' ' || now == '\t';
    boolean atToken = before == NONE || BEFORE_TOKEN.indexOf(before) >= 0;
    property = !space && (property || (atToken && (now == '&' || now == '!')));
    if (property) {
      return;
    }
    switch (now) {
      case ' ' -> {}
      case '\t' -> {
        if (flowDepth > 0 || before == ':') {
          text.setCharAt(at, ' ');
        }
      }
      case '#' -> comment = at == 0 || Character.isWhitespace(text.charAt(at - 1));
      case '"', '\'' -> quote = atToken ? now : NONE;
      case '[', '{' -> flowDepth += atToken || flowDepth > 0 ? 1 : 0;
      case ']', '}' -> flowDepth = Math.max(0, flowDepth - 1);
      default -> {}
    }
    if (!space) {
      before = now;
    }
  }
}
