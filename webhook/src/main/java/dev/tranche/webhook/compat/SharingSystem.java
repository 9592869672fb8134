package dev.tranche.webhook.compat;

/** A system for GPU shares whose annotations and resources Tranche can translate. */
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
