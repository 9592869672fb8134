package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Goes through JSON in memory. Most of a review is skipped, which costs a look at each byte and no
 * object. A parser would decode and remember names that nobody needs.
 */
final class JsonScanner {
  private static final int DIGITS_MAX = 128;
  private static final int LONG_DIGITS = 18;

  /** {@code \\u003c}, the longest that a character of one byte is spelt. */
  private static final int ESCAPE_BYTES = 6;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Strings are most of the bytes, so their ends are looked for in eight at a time. */
  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = LOW_BITS << 7;
  private static final long QUOTES = LOW_BITS * '"';
  private static final long BACKSLASHES = LOW_BITS * '\\';

  private final byte[] json;
  private int at;

  JsonScanner(byte[] json) {
    this.json = json;
  }

  /** What stands there is no JSON, or ends too early. */
  static class Unreadable extends Exception {
    private static final long serialVersionUID = 1;

    Unreadable(String reason) {
      // It is an answer, and where it was thrown tells nobody anything.
      super(reason, null, false, false);
    }

    String reason() {
      return String.valueOf(getMessage());
    }
  }

  int position() {
    return at;
  }

  void back(int position) {
    at = position;
  }

  boolean atEnd() {
    blanks();
    return at == json.length;
  }

  /** The next character that means something; it is not taken. */
  byte peek() throws Unreadable {
    blanks();
    if (at == json.length) {
      throw new Unreadable("it ends too early");
    }
    return json[at];
  }

  void expect(char wanted) throws Unreadable {
    byte found = peek();
    if (found != wanted) {
      throw unexpected("'" + wanted + "'");
    }
    at++;
  }

  /**
   * Steps into a list or over the comma in it.
   *
   * @param first nothing of it has been taken yet, its opening aside
   * @return false behind its end
   */
  boolean more(boolean first, char end) throws Unreadable {
    if (peek() == end) {
      at++;
      return false;
    }
    if (!first) {
      expect(',');
    }
    return true;
  }

  private void blanks() {
    while (at < json.length
        && (json[at] == ' ' || json[at] == '\n' || json[at] == '\r' || json[at] == '\t')) {
      at++;
    }
  }

  private Unreadable unexpected(String wanted) {
    return new Unreadable("%s expected at byte %d".formatted(wanted, at));
  }

  /** Steps over a value of any kind. */
  void skip() throws Unreadable {
    byte first = peek();
    if (first == '"') {
      at = endOfString(at);
    } else if (first == '{' || first == '[') {
      skipStructure();
    } else {
      scalar();
    }
  }

  private void skipStructure() throws Unreadable {
    int open = 0;
    for (int i = at; i < json.length; i++) {
      byte b = json[i];
      if (b == '"') {
        i = endOfString(i) - 1;
      } else if (b == '{' || b == '[') {
        open++;
      } else if ((b == '}' || b == ']') && --open == 0) {
        at = i + 1;
        return;
      }
    }
    throw new Unreadable("it ends too early");
  }

  /**
   * @param opening quote's place
   * @return behind the closing one
   */
  private int endOfString(int opening) throws Unreadable {
    int i = opening + 1;
    while (i < json.length) {
      if (i <= json.length - Long.BYTES) {
        long eight = (long) EIGHT.get(json, i);
        long found = zeros(eight ^ QUOTES) | zeros(eight ^ BACKSLASHES);
        if (found == 0) {
          i += Long.BYTES;
          continue;
        }
        i += Long.numberOfTrailingZeros(found) / Byte.SIZE;
      }
      if (json[i] == '"') {
        return i + 1;
      }
      i += json[i] == '\\' ? 2 : 1;
    }
    throw new Unreadable("it ends within a string");
  }

  /** The highest bit of the first byte that is zero; behind that one, of others too. */
  private static long zeros(long bytes) {
    return (bytes - LOW_BITS) & ~bytes & HIGH_BITS;
  }

  /**
   * A string, which must be there.
   *
   * @param bytesMax of what is decoded
   * @return null where it is longer
   */
  @Nullable String string(int bytesMax) throws Unreadable {
    if (peek() != '"') {
      throw unexpected("a string");
    }
    int from = at + 1;
    int end = (int) Math.min(json.length, (long) from + bytesMax + 1);
    boolean plain = true;
    for (int i = from; i < end; i++) {
      byte b = json[i];
      if (b == '"') {
        at = i + 1;
        return new String(json, from, i - from, plain ? ISO_8859_1 : UTF_8);
      }
      if (b == '\\') {
        return unescaped(from, i, bytesMax);
      }
      plain &= b >= 0;
    }
    // Whether it ends at all comes first: a body that came in part is no long string.
    endOfString(at);
    return null;
  }

  /** As {@link #string}, but of a long one its beginning, as far as that is plain ASCII. */
  String beginning(int bytesMax) throws Unreadable {
    if (peek() != '"') {
      throw unexpected("a string");
    }
    int from = at + 1;
    int behind = endOfString(at);
    if (behind - 1 - from <= bytesMax) {
      return Objects.requireNonNull(string(bytesMax));
    }
    int i = from;
    while (i < from + bytesMax && json[i] > 0 && json[i] != '\\') {
      i++;
    }
    at = behind;
    return new String(json, from, i - from, ISO_8859_1) + "…";
  }

  private @Nullable String unescaped(int from, int firstEscape, int bytesMax) throws Unreadable {
    int end = endOfString(from - 1) - 1;
    if (end - from > (long) ESCAPE_BYTES * bytesMax) {
      return null;
    }
    var text = new StringBuilder(Math.min(end - from, bytesMax));
    text.append(new String(json, from, firstEscape - from, UTF_8));
    for (int i = firstEscape; i < end; ) {
      if (json[i] != '\\') {
        int start = i;
        while (i < end && json[i] != '\\') {
          i++;
        }
        text.append(new String(json, start, i - start, UTF_8));
      } else if (json[i + 1] == 'u') {
        text.append(unicode(i + 2, end));
        i += ESCAPE_BYTES;
      } else {
        text.append(escape(json[i + 1]));
        i += 2;
      }
      if (text.length() > bytesMax) {
        return null;
      }
    }
    at = end + 1;
    return text.toString();
  }

  private char unicode(int from, int end) throws Unreadable {
    int unit = 0;
    for (int i = from; i < from + 4; i++) {
      int digit = i < end ? Character.digit(json[i], 16) : -1;
      if (digit < 0) {
        throw new Unreadable("a \\u at byte %d lacks digits".formatted(from - 2));
      }
      unit = unit << 4 | digit;
    }
    return (char) unit;
  }

  private static char escape(byte escaped) throws Unreadable {
    return switch (escaped) {
      case '"', '\\', '/' -> (char) escaped;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      default -> throw new Unreadable("\\%c is no escape".formatted((char) (escaped & 0xff)));
    };
  }

  /** A number, true, false or null. */
  JsonNode scalar() throws Unreadable {
    int from = at;
    while (at < json.length && scalarByte(json[at])) {
      at++;
    }
    if (at == from || at - from > DIGITS_MAX) {
      throw unexpected("a value");
    }
    String text = new String(json, from, at - from, ISO_8859_1);
    return switch (text) {
      case "true" -> NODES.booleanNode(true);
      case "false" -> NODES.booleanNode(false);
      case "null" -> NODES.nullNode();
      default -> number(text);
    };
  }

  private static boolean scalarByte(byte b) {
    return switch (b) {
      case ' ', '\n', '\r', '\t', ',', ':', '"', '[', ']', '{', '}' -> false;
      default -> true;
    };
  }

  private static JsonNode number(String text) throws Unreadable {
    try {
      if (text.contains(".") || text.contains("e") || text.contains("E")) {
        return NODES.numberNode(new BigDecimal(text));
      }
      if (text.length() > LONG_DIGITS && new BigInteger(text).bitLength() >= Long.SIZE) {
        return NODES.numberNode(new BigInteger(text));
      }
      long value = Long.parseLong(text);
      return value == (int) value ? NODES.numberNode((int) value) : NODES.numberNode(value);
    } catch (NumberFormatException none) {
      throw new Unreadable("%s is no value".formatted(text));
    }
  }

  /** What stands between two positions, a character for each byte. */
  String text(int from, int to) {
    return new String(json, from, to - from, ISO_8859_1);
  }
}
