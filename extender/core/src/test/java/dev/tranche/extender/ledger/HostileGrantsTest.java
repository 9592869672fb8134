package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A node says what its replicas were granted in, and may say another number for each pod. */
final class HostileGrantsTest extends LedgerRig {
  /** What 400 pods were granted in. */
  private static final int[] PRIMES =
      Stream.iterate(BigInteger.valueOf(1 << 30), BigInteger::nextProbablePrime)
          .skip(1)
          .limit(400)
          .mapToInt(BigInteger::intValueExact)
          .toArray();

  private static final int BITS_MAX = 1_024;

  /**
   * The node lists a pod for each, which has one replica of the first GPU.
   *
   * @param grantedOf R that each was granted in
   */
  private void listed(int... grantedOf) {
    var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
    var grants = new HashMap<String, Map<String, NodeState.Grant>>();
    for (int of : grantedOf) {
      holdings.put("ns/p" + of, Map.of("main", Map.of("gpu-0", 1)));
      grants.put("ns/p" + of, Map.of("gpu-0", new NodeState.Grant(of, true)));
    }
    var gpus = List.of(gpu("gpu-0", 0), gpu("gpu-1", 1));
    apply(reported(NODE, new NodeState(true, gpus, holdings, true, grants, List.of())));
  }

  /** The exact sum of so many parts has a denominator of 12,000 bits, and takes as long. */
  @Test
  void unknownPodsOfManyReplicas_takeTheGpu_andCostLittle() {
    listed(PRIMES);
    assertThat(view("gpu-0").earlier().denominator().bitLength()).isLessThan(BITS_MAX);
    assertThat(free("gpu-0")).isZero();
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  /** The same by assignments that the node echoes, of pods that nobody knows. */
  @Test
  void echoesOfManyReplicas_takeTheGpu_andCostLittle() {
    var echoes = new ArrayList<Assignment>();
    for (int of : PRIMES) {
      Assignment echo = echo("p" + of, "gpu-0");
      echoes.add(
          new Assignment(echo.uid(), echo.key(), echo.resource(), echo.placement(), of, Map.of()));
    }
    apply(reported(NODE, state(Map.of(), echoes)));
    assertThat(view("gpu-0").earlier().denominator().bitLength()).isLessThan(BITS_MAX);
    assertThat(free("gpu-0")).isZero();
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  /**
   * One assignment may have 20,000 shares of 10,000 replicas. An error would stop all decisions.
   */
  @Test
  void echoesOfMoreReplicasThanAnIntHolds_takeTheGpu() {
    var echoes = new ArrayList<Assignment>();
    for (int i = 0; i < 30; i++) {
      int of = i % 3 == 0 ? 1 : i % 3 == 1 ? 10_000 : 7;
      echoes.add(
          new Assignment(
              "p" + i, "ns/p" + i, Names.RESOURCE, on("gpu-0", 200_000_000), of, Map.of()));
    }
    var gpus = List.of(gpu("gpu-0", 0, 10_000), gpu("gpu-1", 1, 10_000));
    apply(reported(NODE, new NodeState(true, gpus, Map.of(), true, Map.of(), echoes)));
    assertThat(free("gpu-0")).isZero();
    assertThat(view("gpu-0").grantedBytes()).isEqualTo(gpus.getFirst().memoryUsableBytes());
    assertThat(view("gpu-0").grantedShare()).isEqualTo(1);
    assertThat(free("gpu-1")).isEqualTo(10_000);
  }

  /** No config that was, changed twice a day for a week, is too many. */
  @Test
  void fewEarlierConfigs_areCountedExactly() {
    listed(IntStream.range(100, 114).toArray());
    // 14 parts of 1/100 to 1/113 are 0.132 of the GPU.
    assertThat(free("gpu-0")).isEqualTo(8);
  }
}
