package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonValue;

/** GPUs or parts of one, to the thousandth, as Kubernetes writes them: {@code 2}, {@code 300m}. */
public record GpuQuantity(long milli) {
  private static final double MILLI = 1_000;

  static GpuQuantity of(double gpus) {
    return new GpuQuantity(Math.round(gpus * MILLI));
  }

  public double gpus() {
    return milli / MILLI;
  }

  @Override
  @JsonValue
  public String toString() {
    return milli % MILLI == 0 ? Long.toString((long) (milli / MILLI)) : milli + "m";
  }
}
