package dev.tranche.webhook.compat;

/** A system for GPU shares whose words Tranche can read. */
public enum SharingSystem {
  KAI("KAI"),
  HAMI("HAMi");

  private final String shown;

  SharingSystem(String shown) {
    this.shown = shown;
  }

  /** As its authors write it. */
  @Override
  public String toString() {
    return shown;
  }
}
