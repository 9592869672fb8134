package dev.tranche.e2e.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class TableTest {
  private static String gpu(int index, int percent) {
    return """
        {"node": "one", "index": %d, "uuid": "GPU-%d", "model": "Tesla T4", "memory": "14Gi", \
        "effective": {"sm": "%dm", "memoryFree": "14Gi"}, \
        "measured": {"sm": "%dm", "smLast": "950m"}, "replicas": 10, "freeReplicas": 7, \
        "holders": [{"namespace": "demo", "name": "chat", "replicas": 3, "replicasPerGpu": 10}]}"""
        .formatted(index, index, 10 * percent, 10 * percent);
  }

  private static JsonNode json(String text) throws Exception {
    return new ObjectMapper().readTree(text);
  }

  private static Pod pod() {
    return new PodBuilder()
        .withNewMetadata()
        .withName("chat")
        .addToAnnotations(Names.GPU_FRACTION, "0.3")
        .endMetadata()
        .withNewSpec()
        .withNodeName("one")
        .endSpec()
        .build();
  }

  private static JsonNode decision(String score) throws Exception {
    return json(
        """
        {"chosen": {"node": "one", "score": %s, "chosenGpus": [%s], "gpus": [%s, %s]},
         "fitted": [{"node": "two", "score": 4, "gpus": [%s, %s]}],
         "refused": [{"node": "three", "message": "too full"}]}
        """
            .formatted(score, gpu(0, 5), gpu(0, 5), gpu(1, 97), gpu(0, 55), gpu(1, 30)));
  }

  private static JsonNode twoGpus() throws Exception {
    return json(
        """
        {"chosen": {"node": "one", "score": null, "chosenGpus": [%s, %s], "gpus": [%1$s, %2$s]},
         "fitted": [],
         "refused": [{"node": "node-h100", "message": "the node has enough free GPU replicas, but \
        too few GPUs have enough for one share each"}]}
        """
            .formatted(gpu(0, 5), gpu(1, 97)));
  }

  @Test
  void rows_haveTheWinnersOwnScoreBesideTheOthers() throws Exception {
    assertThat(Table.rows(pod(), Optional.of(decision("9"))))
        .containsExactly(
            List.of("chat", "0.3", "one", "0 Tesla T4", "9", "SM 5 %, 14 of 14 GiB free"),
            List.of("", "not its GPU 1: SM 97 %"),
            List.of("", "not two: score 4, SM 55 % and 30 %"),
            List.of("", "not three: too full"));
  }

  @Test
  void rows_ofAPodThatOnlyOneNodeFits_haveNoScore() throws Exception {
    assertThat(Table.rows(pod(), Optional.of(decision("null"))).getFirst())
        .element(4)
        .isEqualTo("–");
  }

  @Test
  void rows_ofAPodWithTwoGpus_areOneForEach() throws Exception {
    assertThat(Table.rows(pod(), Optional.of(twoGpus())).subList(0, 2))
        .containsExactly(
            List.of("chat", "0.3", "one", "0 Tesla T4", "–", "SM 5 %, 14 of 14 GiB free"),
            List.of("", "", "", "1 Tesla T4", "", "SM 97 %, 14 of 14 GiB free"));
  }

  @Test
  void rows_ofAPodThatNoExtenderRemembers_sayThat() {
    assertThat(Table.rows(pod(), Optional.empty()))
        .containsExactly(List.of("chat", "0.3", "one", "no extender remembers"));
  }

  /** A terminal and README show lines of this length without a break. */
  @Test
  void table_isNarrow() throws Exception {
    String table = Table.of(Table.rows(pod(), Optional.of(twoGpus())));
    assertThat(table.lines()).allMatch(line -> line.length() <= 120);
    assertThat(table)
        .startsWith(
            """
            POD   REQUEST  NODE  GPU         SCORE  LOAD BEFORE
            chat  0.3      one   0 Tesla T4  –      SM 5 %, 14 of 14 GiB free
                                 1 Tesla T4         SM 97 %, 14 of 14 GiB free
                  not node-h100: the node has enough free GPU replicas, but""");
  }
}
