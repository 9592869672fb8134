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
 * Scans JSON in memory. Most of a review is skipped, which reads each byte once and allocates no
 * object. A parser would decode and keep names that nobody needs.
 */
final class JsonScanner {
  private static final int DIGITS_MAX = 128;
  private static final int LONG_DIGITS = 18;

  /** Length of {@code \\u003c}, the longest escape of a one-byte character. */
  private static final int ESCAPE_BYTES = 6;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Most bytes belong to strings, so the search for a string's end reads eight bytes at a time. */
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

  /** Thrown if the input is not JSON or ends too early. */
  static class UnreadableException extends Exception {
    private static final long serialVersionUID = 1;

    UnreadableException(String reason) {
      // The message becomes an answer, and a stack trace would help nobody.
      super(reason, null, false, false);
    }

    String reason() {
      return String.valueOf(getMessage());
    }
  }

  int position() {
    return at;
  }

  void seek(int position) {
    at = position;
  }

  boolean atEnd() {
    skipWhitespace();
    return at == json.length;
  }

  /** Returns the next byte that is not whitespace, without consuming it. */
  byte peek() throws UnreadableException {
    skipWhitespace();
    if (at == json.length) {
      throw new UnreadableException("it ends too early");
    }
    return json[at];
  }

  void expect(char wanted) throws UnreadableException {
    byte found = peek();
    if (found != wanted) {
      throw unexpected("'" + wanted + "'");
    }
    at++;
  }

  /**
   * Advances to the next element of a list or object, past the comma before it.
   *
   * @param first whether no element has been read yet, only the opening bracket
   * @return false at the end, whose closing bracket is consumed
   */
  boolean more(boolean first, char end) throws UnreadableException {
    if (peek() == end) {
      at++;
      return false;
    }
    if (!first) {
      expect(',');
    }
    return true;
  }

  private void skipWhitespace() {
    while (at < json.length
        && (json[at] == ' ' || json[at] == '\n' || json[at] == '\r' || json[at] == '\t')) {
      at++;
    }
  }

  private UnreadableException unexpected(String wanted) {
    return new UnreadableException("%s expected at byte %d".formatted(wanted, at));
  }

  /** Steps over a value of any kind. */
  void skip() throws UnreadableException {
    byte first = peek();
    if (first == '"') {
      at = endOfString(at);
    } else if (first == '{' || first == '[') {
      skipStructure();
    } else {
      scalar();
    }
  }

  private void skipStructure() throws UnreadableException {
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
    throw new UnreadableException("it ends too early");
  }

  /**
   * @param opening the position of the opening quote
   * @return the position after the closing quote
   */
  private int endOfString(int opening) throws UnreadableException {
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
    throw new UnreadableException("it ends within a string");
  }

  /**
   * Returns a mask with the highest bit of the first zero byte set. Later bytes may be marked even
   * if they are not zero.
   */
  private static long zeros(long bytes) {
    return (bytes - LOW_BITS) & ~bytes & HIGH_BITS;
  }

  /**
   * Reads a string, which must come next.
   *
   * @param bytesMax maximum length of the decoded string
   * @return null if it is longer
   */
  @Nullable String string(int bytesMax) throws UnreadableException {
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
    // Throws if the string has no end: a truncated body is not a string that is too long.
    endOfString(at);
    return null;
  }

  /** Like {@link #string}, but shortens a longer string to the plain ASCII at its beginning. */
  String beginning(int bytesMax) throws UnreadableException {
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

  private @Nullable String unescaped(int from, int firstEscape, int bytesMax)
      throws UnreadableException {
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

  private char unicode(int from, int end) throws UnreadableException {
    int unit = 0;
    for (int i = from; i < from + 4; i++) {
      int digit = i < end ? Character.digit(json[i], 16) : -1;
      if (digit < 0) {
        throw new UnreadableException("a \\u at byte %d lacks digits".formatted(from - 2));
      }
      unit = unit << 4 | digit;
    }
    return (char) unit;
  }

  private static char escape(byte escaped) throws UnreadableException {
    return switch (escaped) {
      case '"', '\\', '/' -> (char) escaped;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      default ->
          throw new UnreadableException("\\%c is not an escape".formatted((char) (escaped & 0xff)));
    };
  }

  /** A number, true, false or null. */
  JsonNode scalar() throws UnreadableException {
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

  private static JsonNode number(String text) throws UnreadableException {
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
      throw new UnreadableException("%s is not a value".formatted(text));
    }
  }

  /** Returns the bytes between two positions as text, one character per byte. */
  String text(int from, int to) {
    return new String(json, from, to - from, ISO_8859_1);
  }
}
