package dev.tranche.e2e.versions;

import java.util.List;
import java.util.stream.Stream;

/**
 * One entry of Maven's {@code -Dit.test}.
 *
 * @param methods empty for the whole class
 */
record Selector(String className, List<String> methods) {
  /** Reads {@code ConfigE2E} or {@code ConfigE2E#one+another}. */
  static Selector of(String text) {
    String[] words = text.split("#", 2);
    return new Selector(words[0], words.length == 1 ? List.of() : List.of(words[1].split("\\+")));
  }

  @Override
  public String toString() {
    return methods.isEmpty() ? className : className + "#" + String.join("+", methods);
  }

  /** What a report says of a class itself, such as a failed start, concerns its methods as well. */
  boolean selects(TestCase test) {
    return test.className().equals(className)
        && (methods.isEmpty() || test.method().isEmpty() || methods.contains(test.method()));
  }

  /** Returns the names that have no test among these. */
  Stream<String> absentFrom(List<TestCase> tests) {
    if (methods.isEmpty()) {
      return Stream.of(className).filter(name -> tests.stream().noneMatch(this::selects));
    }
    return methods.stream()
        .map(method -> className + "#" + method)
        .filter(name -> tests.stream().noneMatch(test -> test.name().equals(name)));
  }
}
