package dev.tranche.process.settings;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Collects the errors and warnings of a configuration, so that all are reported at once. */
public final class ConfigErrors {
  /** The exit status of a process that was started with wrong arguments. */
  private static final int USAGE = 2;

  private final List<String> errors = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();

  public void error(String sentence) {
    errors.add(sentence);
  }

  /** Reports a wrong value, in the words of all processes and of the chart. */
  public void invalid(String what, @Nullable Object value, String allowed) {
    String shown = value instanceof String text ? "\"" + text + "\"" : String.valueOf(value);
    error("%s is %s; allowed: %s".formatted(what, shown, allowed));
  }

  public void warning(String sentence) {
    warnings.add(sentence);
  }

  /** Ends the process if there are errors, and prints them. */
  public void exitUnlessClean() {
    if (!clean()) {
      errors.forEach(System.err::println);
      System.exit(USAGE);
    }
  }

  public boolean clean() {
    return errors.isEmpty();
  }

  public List<String> errors() {
    return List.copyOf(errors);
  }

  public List<String> warnings() {
    return List.copyOf(warnings);
  }
}
