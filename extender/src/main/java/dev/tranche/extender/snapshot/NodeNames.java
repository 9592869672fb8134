package dev.tranche.extender.snapshot;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.RandomAccess;

/**
 * The node names of one request, each with a number that is the same in every request. The number
 * finds a node's data without a hash lookup, which would be a cache miss for each of thousands. Of
 * use until the next request is read into it.
 */
public final class NodeNames extends AbstractList<String> implements RandomAccess {
  /** Of a name that has none. */
  public static final int NO_NUMBER = -1;

  private String[] names = new String[64];
  private int[] numbers = new int[64];
  private int size;

  /** Of a name of these; of any other list none has one. */
  public static int number(List<String> names, int index) {
    return names instanceof NodeNames numbered ? numbered.numbers[index] : NO_NUMBER;
  }

  /**
   * @param number small, and for a long time the same string's only; it may become another's
   */
  public void append(String name, int number) {
    if (size == names.length) {
      names = Arrays.copyOf(names, 2 * size);
      numbers = Arrays.copyOf(numbers, 2 * size);
    }
    names[size] = name;
    numbers[size++] = number;
  }

  /** For the next request. */
  public void begin() {
    size = 0;
  }

  @Override
  public String get(int index) {
    if (index >= size) {
      throw new IndexOutOfBoundsException(index);
    }
    return names[index];
  }

  @Override
  public int size() {
    return size;
  }
}
