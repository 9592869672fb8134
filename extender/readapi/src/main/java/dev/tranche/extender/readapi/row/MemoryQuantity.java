package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonValue;

/** Bytes, written exactly: {@code 10Gi}, or {@code 10737418241} where no suffix is exact. */
public record MemoryQuantity(long bytes) {
  private static final String[] SUFFIXES = {"", "Ki", "Mi", "Gi", "Ti"};
  private static final long STEP = 1_024;

  @Override
  @JsonValue
  public String toString() {
    long amount = bytes;
    int suffix = 0;
    while (amount != 0 && amount % STEP == 0 && suffix < SUFFIXES.length - 1) {
      amount /= STEP;
      suffix++;
    }
    return amount + SUFFIXES[suffix];
  }
}
