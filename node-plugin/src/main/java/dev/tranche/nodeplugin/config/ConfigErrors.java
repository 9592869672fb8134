package dev.tranche.nodeplugin.config;

import java.util.ArrayList;
import java.util.List;

/** Collects the errors and warnings of a configuration, so that all are reported at once. */
public final class ConfigErrors {
  private final List<String> errors = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();

  public void error(String sentence) {
    errors.add(sentence);
  }

  public void warning(String sentence) {
    warnings.add(sentence);
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
