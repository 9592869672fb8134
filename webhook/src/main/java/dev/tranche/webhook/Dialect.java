package dev.tranche.webhook;

/** A system for GPU shares whose words Tranche can read. */
public enum Dialect {
  KAI("KAI"),
  HAMI("HAMi");

  private final String shown;

  Dialect(String shown) {
    this.shown = shown;
  }

  /** As its authors write it. */
  @Override
  public String toString() {
    return shown;
  }
}
