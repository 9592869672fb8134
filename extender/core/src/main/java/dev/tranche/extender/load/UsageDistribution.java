package dev.tranche.extender.load;

import java.util.List;

/**
 * The distribution of what pods really use of a GPU, in multiples of the share that they requested.
 *
 * @param parts of all pods; their odds add up to 1
 */
public record UsageDistribution(List<Part> parts) {
  /**
   * The distribution while nothing is known of a cluster: most pods use less, some use far more.
   */
  public static final UsageDistribution GUESS =
      new UsageDistribution(
          List.of(new Part(0.25, 0.5), new Part(1, 0.3), new Part(2, 0.1), new Part(4, 0.1)));

  /**
   * @param times multiple of the share
   * @param odds 0 to 1
   */
  public record Part(double times, double odds) {}
}
