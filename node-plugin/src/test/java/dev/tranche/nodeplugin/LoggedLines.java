package dev.tranche.nodeplugin;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Filter;
import java.util.logging.Logger;

/** What a class logs. */
public final class LoggedLines {
  private LoggedLines() {}

  /** Returns the lines that a class logs meanwhile. */
  public static List<String> of(Class<?> source, Runnable meanwhile) {
    List<String> lines = new ArrayList<>();
    Logger logger = Logger.getLogger(source.getName());
    Filter before = logger.getFilter();
    logger.setFilter(
        line -> {
          lines.add(line.getMessage());
          return true;
        });
    try {
      meanwhile.run();
    } finally {
      logger.setFilter(before);
    }
    return lines;
  }
}
