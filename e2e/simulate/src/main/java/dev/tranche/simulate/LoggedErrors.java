package dev.tranche.simulate;

import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Receives the errors that the extender and the plugin log. Their warnings are not shown. */
final class LoggedErrors extends Handler {
  private static final Logger PRODUCT = Logger.getLogger("dev.tranche");

  private final Consumer<String> errors;
  private final @Nullable Level before;

  LoggedErrors(Consumer<String> errors) {
    this.errors = errors;
    this.before = PRODUCT.getLevel();
    PRODUCT.setLevel(Level.SEVERE);
    PRODUCT.addHandler(this);
  }

  @Override
  public void publish(LogRecord line) {
    if (line.getLevel().intValue() >= Level.SEVERE.intValue()) {
      Throwable thrown = line.getThrown();
      errors.accept(line.getMessage() + (thrown == null ? "" : ": " + thrown));
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    PRODUCT.removeHandler(this);
    PRODUCT.setLevel(before);
  }
}
