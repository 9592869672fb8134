package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.process.loop.MonotonicClock;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A test of the binding against the simulated library. What it opens is closed after it. */
@SuppressWarnings("NullAway")
abstract class WithNvml {
  FakeNvml fake;
  JnaNvml nvml;

  @BeforeEach
  void compile() throws Exception {
    fake = FakeNvml.compiled();
  }

  @AfterEach
  void close() {
    if (nvml != null) {
      nvml.close();
    }
  }

  /** Opens the library in this state, in place of what is open. */
  void open(String... state) throws IOException {
    close();
    fake.state(state);
    nvml = null;
    nvml = JnaNvml.open(fake.root(), this::clockMs);
  }

  long clockMs() {
    return MonotonicClock.ms();
  }
}
