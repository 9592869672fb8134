package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.Reviews;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodeSelectionTest {
  private static final GpuNode NODE = Reviews.node("n1", "zone", "a", "size", "8");

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{} | true",
        "{'nodeSelector':{'zone':'a'}} | true",
        "{'nodeSelector':{'zone':'b'}} | false",
        "{'nodeSelector':{'absent':''}} | false",
      })
  void nodeSelector_mustBeEqual(String spec, boolean admitted) {
    assertThat(admits(spec)).isEqualTo(admitted);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'matchExpressions':[{'key':'zone','operator':'In','values':['b','a']}]} | true",
        "{'matchExpressions':[{'key':'zone','operator':'NotIn','values':['a']}]} | false",
        "{'matchExpressions':[{'key':'absent','operator':'NotIn','values':['a']}]} | true",
        "{'matchExpressions':[{'key':'zone','operator':'Exists'}]} | true",
        "{'matchExpressions':[{'key':'zone','operator':'DoesNotExist'}]} | false",
        "{'matchExpressions':[{'key':'size','operator':'Gt','values':['7']}]} | true",
        "{'matchExpressions':[{'key':'size','operator':'Gt','values':['8']}]} | false",
        "{'matchExpressions':[{'key':'size','operator':'Lt','values':['10']}]} | true",
        "{'matchExpressions':[{'key':'zone','operator':'Lt','values':['10']}]} | false",
        "{'matchExpressions':[{'key':'zone','operator':'Like','values':['a']}]} | false",
        "{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}]} | true",
        "{'matchFields':[{'key':'metadata.name','operator':'In','values':['n2']}]} | false",
        "{} | false",
        "{},{'matchExpressions':[{'key':'zone','operator':'Exists'}]} | true",
      })
  void requiredTerms_areAlternatives(String terms, boolean admitted) {
    assertThat(
            admits(
                "{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':["
                    + terms
                    + "]}}}}"))
        .isEqualTo(admitted);
  }

  @Test
  void preferredTerms_doNotCount() {
    assertThat(
            admits(
                "{'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[]}}}"))
        .isTrue();
  }

  private static boolean admits(String spec) {
    return new NodeSelection(Reviews.json(spec)).admits(NODE);
  }
}
