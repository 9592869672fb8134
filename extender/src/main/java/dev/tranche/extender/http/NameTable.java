package dev.tranche.extender.http;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Nodes' names, each kept once: every request names the same thousands, and to make them anew for
 * each pod costs more than to decide. In columns, so that a look costs no wait for the memory of a
 * string. Confined to one thread.
 */
final class NameTable {
  /** Beyond these it begins anew: nodes come and go under new names. */
  static final int NAMES_MAX = 1 << 15;

  /** No node has a longer name; what is longer is not kept. */
  static final int BYTES_MAX = 253;

  /** Of what is no node's name. */
  static final int NONE = -1;

  private static final int LINES = 1 << 10;
  private static final char QUOTE = '"';

  /** Open addressing: where a name's hash leads to its line. */
  private int[] lines;

  private int[] hashes;
  private String[] names;

  /** Of line i from {@code starts[i]} to {@code starts[i + 1]}. */
  private int[] starts;

  private byte[] texts;
  private int size;

  NameTable() {
    clear();
  }

  private void clear() {
    lines = new int[2 * LINES];
    Arrays.fill(lines, NONE);
    hashes = new int[LINES];
    names = new String[LINES];
    starts = new int[LINES + 1];
    texts = new byte[16 * LINES];
    size = 0;
  }

  /**
   * The line of the name that begins here and ends before a quote; {@link #NONE}: no node has such
   * a name, or it is written with escapes. It is the same for as long as the table is not begun
   * anew.
   *
   * @param end of the text
   */
  int line(byte[] text, int from, int end) {
    int hash = 0;
    int at = from;
    while (at < end && text[at] != QUOTE) {
      // Bytes beyond ASCII are below 0.
      if (text[at] <= ' ' || text[at] == '\\') {
        return NONE;
      }
      hash = 31 * hash + text[at++];
    }
    return at == end || at - from > BYTES_MAX ? NONE : line(hash ^ (hash >>> 16), text, from, at);
  }

  private int line(int hash, byte[] text, int from, int to) {
    int mask = lines.length - 1;
    int at = hash & mask;
    for (int line = lines[at]; line != NONE; line = lines[at]) {
      if (hashes[line] == hash && same(line, text, from, to)) {
        return line;
      }
      at = (at + 1) & mask;
    }
    return add(hash, text, from, to);
  }

  /** The name of a line, each time the same string. */
  String name(int line) {
    return names[line];
  }

  int size() {
    return size;
  }

  int length(int line) {
    return starts[line + 1] - starts[line];
  }

  private boolean same(int line, byte[] text, int from, int to) {
    return Arrays.equals(texts, starts[line], starts[line + 1], text, from, to);
  }

  private int add(int hash, byte[] text, int from, int to) {
    if (size >= NAMES_MAX) {
      clear();
    } else if (size == hashes.length) {
      grow();
    }
    int start = starts[size];
    int length = to - from;
    if (start + length > texts.length) {
      texts = Arrays.copyOf(texts, 2 * (start + length));
    }
    System.arraycopy(text, from, texts, start, length);
    starts[size + 1] = start + length;
    hashes[size] = hash;
    names[size] = new String(text, from, length, StandardCharsets.US_ASCII);
    enter(size);
    return size++;
  }

  private void grow() {
    hashes = Arrays.copyOf(hashes, 2 * size);
    names = Arrays.copyOf(names, 2 * size);
    starts = Arrays.copyOf(starts, 2 * size + 1);
    lines = new int[4 * size];
    Arrays.fill(lines, NONE);
    for (int line = 0; line < size; line++) {
      enter(line);
    }
  }

  private void enter(int line) {
    int mask = lines.length - 1;
    int at = hashes[line] & mask;
    while (lines[at] != NONE) {
      at = (at + 1) & mask;
    }
    lines[at] = line;
  }
}
