package dev.tranche.process.log;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What a logger, and those below it, write until this is closed. */
public final class Logged extends Handler implements AutoCloseable {
  private final List<LogRecord> records = new CopyOnWriteArrayList<>();

  /** Held, since loggers are only weakly referenced. */
  private final Logger logger;

  /** Without regard to the level that the tests log at. */
  public static Logged by(Class<?> source) {
    return new Logged(source.getName(), Level.ALL);
  }

  public Logged(String name, Level level) {
    logger = Logger.getLogger(name);
    logger.setLevel(level);
    logger.addHandler(this);
  }

  public List<LogRecord> records() {
    return records;
  }

  public List<String> messages() {
    return records.stream().map(LogRecord::getMessage).toList();
  }

  @Override
  public void publish(LogRecord written) {
    records.add(written);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
    logger.setLevel(null);
  }
}
