package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.process.fuzz.Corpus;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Any file of assignments and any list of the kubelet are refused as malformed, or read without an
 * exception. What is kept of them can be kept again.
 */
public class AssignmentsFuzzTest {
  private static final String NODE = "n";

  @Test
  void corpus() throws Exception {
    Corpus.replay(AssignmentsFuzzTest.class, AssignmentsFuzzTest::fuzzerTestOneInput);
  }

  /**
   * @param input the length of the file in its first byte, times 16; the file; the kubelet's list
   */
  public static void fuzzerTestOneInput(byte[] input) throws Exception {
    int split = input.length == 0 ? 0 : Math.min(input.length, 1 + (input[0] & 0xff) * 16);
    List<Assignment> kept;
    ListPodResourcesResponse list;
    try {
      kept = AssignmentFile.parse(Arrays.copyOfRange(input, Math.min(1, split), split), 1_000);
      list = ListPodResourcesResponse.parseFrom(Arrays.copyOfRange(input, split, input.length));
    } catch (InvalidProtocolBufferException refused) {
      return;
    }
    var pods = new PodList(list);
    assertThat(pods.holdings(device -> true)).isNotNull();
    assertThat(pods.complete(NODE)).isIn(false, true);
    var assignments = new Assignments();
    kept.forEach(assignment -> assignments.receive(assignment, 1_000));
    assignments.listed(pods);
    assignments.confirm(pods);
    assignments.expire(3_000);
    List<Assignment> remaining = assignments.remaining(3_000);
    assertThat(AssignmentFile.parse(AssignmentFile.content(remaining, 3_000), 3_000))
        .containsExactlyInAnyOrderElementsOf(remaining);
  }
}
