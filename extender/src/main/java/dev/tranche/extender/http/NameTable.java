package dev.tranche.extender.http;

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
  static final int CHARS_MAX = 253;

  private static final int LINES = 1 << 10;
  private static final int FREE = -1;

  /** Open addressing: where a name's hash leads to its line. */
  private int[] lines;

  private int[] hashes;
  private String[] names;

  /** Of line i from {@code starts[i]} to {@code starts[i + 1]}. */
  private int[] starts;

  private char[] texts;
  private int size;

  NameTable() {
    clear();
  }

  private void clear() {
    lines = new int[2 * LINES];
    Arrays.fill(lines, FREE);
    hashes = new int[LINES];
    names = new String[LINES];
    starts = new int[LINES + 1];
    texts = new char[16 * LINES];
    size = 0;
  }

  /**
   * The line of these characters; below 0: no node has such a name. It is the same for as long as
   * the table is not begun anew.
   */
  int line(char[] text, int offset, int length) {
    if (length > CHARS_MAX) {
      return -1;
    }
    int hash = hash(text, offset, length);
    int mask = lines.length - 1;
    int at = hash & mask;
    for (int line = lines[at]; line != FREE; line = lines[at]) {
      if (hashes[line] == hash && same(line, text, offset, length)) {
        return line;
      }
      at = (at + 1) & mask;
    }
    return add(hash, text, offset, length);
  }

  /** The name of a line, each time the same string. */
  String name(int line) {
    return names[line];
  }

  int size() {
    return size;
  }

  private boolean same(int line, char[] text, int offset, int length) {
    return Arrays.equals(texts, starts[line], starts[line + 1], text, offset, offset + length);
  }

  private int add(int hash, char[] text, int offset, int length) {
    if (size >= NAMES_MAX) {
      clear();
    } else if (size == hashes.length) {
      grow();
    }
    int start = starts[size];
    if (start + length > texts.length) {
      texts = Arrays.copyOf(texts, 2 * (start + length));
    }
    System.arraycopy(text, offset, texts, start, length);
    starts[size + 1] = start + length;
    hashes[size] = hash;
    names[size] = new String(text, offset, length);
    enter(size);
    return size++;
  }

  private void grow() {
    hashes = Arrays.copyOf(hashes, 2 * size);
    names = Arrays.copyOf(names, 2 * size);
    starts = Arrays.copyOf(starts, 2 * size + 1);
    lines = new int[4 * size];
    Arrays.fill(lines, FREE);
    for (int line = 0; line < size; line++) {
      enter(line);
    }
  }

  private void enter(int line) {
    int mask = lines.length - 1;
    int at = hashes[line] & mask;
    while (lines[at] != FREE) {
      at = (at + 1) & mask;
    }
    lines[at] = line;
  }

  /** Names differ in their last characters, which must decide on the lower bits. */
  private static int hash(char[] text, int offset, int length) {
    int hash = 0;
    for (int i = offset; i < offset + length; i++) {
      hash = 31 * hash + text[i];
    }
    return hash ^ (hash >>> 16);
  }
}
