package dev.tranche.e2e.bench.soak;

/**
 * One way in which something fails.
 *
 * @param strike returns what shows that it struck; throws if it did not
 * @param end ends it; does nothing if it ends by itself
 */
record Fault(String name, Strike strike, End end) {
  /** Makes something fail. */
  interface Strike {
    String on(Target target) throws Exception;
  }

  /** Lets it work again. */
  interface End {
    void on(Target target) throws Exception;
  }

  Fault(String name, Strike strike) {
    this(name, strike, target -> {});
  }
}
