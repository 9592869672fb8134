package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Bodies that a tenant, or any pod that reaches the webhook's port, could send. Each is made to
 * cost as much as it can: long strings, many small values, and many things to say about them.
 */
public final class HostileBodies {
  private static final int BYTES_MAX = 1_536 << 10;
  private static final int LONG = 1_400_000;
  private static final int NAME_PAIRS = 13;

  /** Where a string of any length could stand. */
  private static final List<String> STRINGS =
      List.of(
          "'metadata':{'name':'%s'}",
          "'metadata':{'generateName':'%s'}",
          "'metadata':{'%s':'x'}",
          "'metadata':{'annotations':{'%s':'x'}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'%s'}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'1','tranche.dev/gpu-model':'%s'}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'1','tranche.dev/gpu-uuid':'%s'}}",
          "'metadata':{'annotations':{'cdi.k8s.io/x':'%s'}}",
          "'metadata':{'ownerReferences':[{'controller':true,'kind':'%s','name':'x'}]}",
          "'metadata':{'ownerReferences':[{'controller':true,'kind':'x','name':'%s'}]}",
          "'spec':{'nodeName':'%s','containers':[{'name':'c'}]}",
          "'spec':{'schedulerName':'%s','containers':[{'name':'c'}]}",
          "'spec':{'serviceAccountName':'%s','containers':[{'name':'c'}]}",
          "'spec':{'runtimeClassName':'%s','containers':[{'name':'c'}]}",
          "'spec':{'nodeSelector':{'x':'%s'},'containers':[{'name':'c'}]}",
          "'spec':{'containers':[{'name':'%s','securityContext':{'privileged':true}}]}",
          "'spec':{'containers':[{'name':'c','image':'%s'}]}",
          "'spec':{'containers':[{'name':'c','%s':'nvidia'}]}",
          "'spec':{'containers':[{'name':'c','resources':{'limits':{'%s':'1'}}}]}",
          "'spec':{'containers':[{'name':'c','resources':{'limits':{'nvidia.com/gpu':'%s'}}}]}",
          "'spec':{'containers':[{'name':'c','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'%s'}]}]}",
          "'spec':{'containers':[{'name':'c','env':[{'name':'%s','value':'NVIDIA'}]}]}",
          "'spec':{'containers':[{'name':'c','envFrom':[{'prefix':'%s'}]}]}",
          "'spec':{'containers':[{'name':'c','volumeMounts':[{'name':'nvidia','mountPath':'%s'}]}]}",
          "'spec':{'volumes':[{'name':'v','hostPath':{'path':'%s'}}],'containers':[{'name':'c'}]}",
          "'spec':{'volumes':[{'name':'v','csi':{'volumeAttributes':{'a':'%s'}}}],'containers':[]}",
          "'spec':{'affinity':{'podAffinity':{'x':'%s'}},'containers':[{'name':'c'}]}");

  private static final List<String> TEXTS =
      List.of("x", "/a", "/", "/..", "../", "é", "中", "\\u003c", "\\n", "a,", "GPU-1,", "0.", " ");

  /** Where a list of any length could stand. */
  private static final List<String> LISTS =
      List.of(
          "'spec':{'containers':[%s]}",
          "'spec':{'initContainers':[%s],'containers':[{}]}",
          "'spec':{'ephemeralContainers':[%s],'containers':[{}]}",
          "'spec':{'containers':[{'name':'c','env':[%s]}]}",
          "'spec':{'containers':[{'name':'c','envFrom':[%s]}]}",
          "'spec':{'containers':[{'name':'c','volumeMounts':[{'mountPath':'nvidia'},%s]}]}",
          "'spec':{'volumes':[%s],'containers':[{'name':'c'}]}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c'}],'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[%s]}}}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c'}],'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[%s]}}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c'}],'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'NotIn','values':[%s]}]}]}}}}",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c'}],'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[%s]}]}}}}",
          "'metadata':{'ownerReferences':[%s]}");

  /** Elements; a {@code #} is a running number. */
  private static final List<String> ELEMENTS =
      List.of(
          "{}",
          "[]",
          "''",
          "0",
          "{'a':0}",
          "{'a':{'b':{}}}",
          "{'name':'#'}",
          "'v#'",
          "{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}",
          "{'name':'NVIDIA_VISIBLE_DEVICES','value':'#'}",
          "{'name':'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT','value':'#'}",
          "{'name':'c#','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]}",
          "{'name':'c#','securityContext':{'privileged':true}}",
          "{'name':'c#','resources':{'limits':{'nvidia.com/gpu':'1'}}}",
          "{'prefix':'NVIDIA'}",
          "{'mountPath':'/var/run/nvidia-container-devices/#'}",
          "{'name':'v#','hostPath':{'path':'/dev/nvidia#'}}",
          "{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['#']}]}",
          "{'key':'kubernetes.io/hostname','operator':'NotIn','values':['#']}",
          "{'key':'tranche.dev/replicas-per-gpu','operator':'Gt','values':['1']}",
          "{'controller':true,'kind':'x','name':'#'}");

  /** Objects with many fields; a {@code #} is a running number. */
  private static final List<String> FIELDS =
      List.of(
          "'metadata':{'annotations':{%s}}|'a#':''",
          "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}|'tranche.dev/gpu-fraction.c#':'1'",
          "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}|'tranche.dev/gpu-memory.c#':'x'",
          "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}|'tranche.dev/x#':''",
          "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}|'nvidia.com/container.c#.gpu-memory.limit':'x'",
          "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}|'cdi.k8s.io/#':'all'",
          "'metadata':{%s}|'a#':{}",
          "'spec':{'containers':[{'name':'c'}],'nodeSelector':{%s}}|'kubernetes.io/hostname':'#'",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c'}],'nodeSelector':{%s}}|'k#':'#'",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c','resources':{'limits':{%s}}}]}|'nvidia.com/gpu#':'1'",
          "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'0.5'}},'spec':{'containers':[{'name':'c','resources':{'requests':{%s}}}]}|'nvidia.com/mig-#':'1'",
          "'spec':{'containers':[{%s}]}|'f#':[]");

  private HostileBodies() {}

  /** Each kind once, at its worst. */
  static void each(Consumer<byte[]> bodies) {
    for (String where : STRINGS) {
      for (String text : TEXTS) {
        bodies.accept(review(where, text.repeat(LONG / text.length())));
      }
      bodies.accept(review(where, "/a".repeat(600_000)));
      bodies.accept(review(where, "Tesla-T#,".repeat(27_000)));
    }
    for (String where : LISTS) {
      for (String element : ELEMENTS) {
        for (int count : new int[] {1_000, 6_000, 60_000}) {
          bodies.accept(review(where, many(element, count)));
        }
      }
    }
    for (String field : FIELDS) {
      String[] whereAndField = field.split("\\|", -1);
      for (int count : new int[] {1_000, 8_000, 20_000}) {
        bodies.accept(review(whereAndField[0], many(whereAndField[1], count)));
      }
    }
    bodies.accept(
        review(
            "'metadata':{'annotations':{'kubernetes.io/limit-ranger':'nvidia.com/gpu "
                + "a".repeat(60_000)
                + "',%s}},'spec':{'containers':["
                + many("{'name':'c#','resources':{'limits':{'nvidia.com/gpu':'2'}}}", 512)
                + "]}",
            many("'tranche.dev/gpu-fraction.c#':'0.5'", 512)));
    bodies.accept(
        review(
            "'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'c','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'"
                + "0.".repeat(50_000)
                + "'}]}]}",
            many("'a#':''", 18_751)));
    for (String where : LISTS) {
      for (String element : ELEMENTS) {
        bodies.accept(update(where, many(element, 9_000)));
      }
    }
    bodies.accept(collidingNames());
    String added =
        "'metadata':{'annotations':{'tranche.dev/gpu-fraction':'1','tranche.dev/webhook-added':'%s'}},'spec':{'containers':[{'name':'c'}]}";
    bodies.accept(review(added, "[" + "[],".repeat(480_000) + "[]]"));
    bodies.accept(update(added, "[" + "[],".repeat(240_000) + "[]]"));
    bodies.accept(
        review(
            "'metadata':{'annotations':{'hami.io/gpu-scheduler-policy':'%s'}}",
            "binpack" + ",spread".repeat(200_000)));
    bodies.accept(
        bytes("{'apiVersion':'admission.k8s.io/v1','request':{'uid':'" + "u".repeat(LONG)));
    bodies.accept(bytes("[".repeat(LONG)));
    bodies.accept(bytes("{'a':".repeat(LONG / 5)));
    bodies.accept(review("'spec':%s", "[".repeat(LONG)));
    bodies.accept(review("'spec':{'affinity':%s", "{'a':".repeat(LONG / 6)));
    bodies.accept(review("'spec':{'nodeName':%s}", "1".repeat(LONG)));
  }

  /** An update of variables whose names all have the same hash code. */
  public static byte[] collidingNames() {
    String variables =
        IntStream.range(0, 1 << NAME_PAIRS)
            .mapToObj(Integer::toBinaryString)
            .map(bits -> "0".repeat(NAME_PAIRS - bits.length()) + bits)
            .map(bits -> "{'name':'" + bits.replace("0", "Aa").replace("1", "BB") + "'}")
            .collect(Collectors.joining(","));
    String pod =
        "'spec':{'containers':[{'name':'c','env':[%s,{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]}]}";
    return update(pod, variables);
  }

  /**
   * A review for each place that a text could stand in.
   *
   * @param text as JSON spells it
   */
  static List<byte[]> with(String text) {
    return STRINGS.stream().map(where -> review(where, text)).toList();
  }

  /** Several kinds in one pod. */
  static byte[] mixed(RandomGenerator random) {
    var fields = new ArrayList<String>();
    int length = BYTES_MAX / 5;
    for (int i = 0; i < 3; i++) {
      switch (random.nextInt(3)) {
        case 0 -> {
          String text = one(TEXTS, random);
          fields.add(one(STRINGS, random).replace("%s", text.repeat(random.nextInt(length) / 6)));
        }
        case 1 -> {
          String element = one(ELEMENTS, random);
          int count = random.nextInt(1 + length / (element.length() + 6));
          fields.add(one(LISTS, random).replace("%s", many(element, 1 + count)));
        }
        default -> {
          String[] field = one(FIELDS, random).split("\\|", -1);
          int count = random.nextInt(length / (field[1].length() + 6));
          fields.add(field[0].replace("%s", many(field[1], 1 + count)));
        }
      }
    }
    return review("%s", String.join(",", fields));
  }

  private static String one(List<String> of, RandomGenerator random) {
    return of.get(random.nextInt(of.size()));
  }

  private static String many(String element, int count) {
    var all = new StringBuilder();
    for (int i = 0; i < count && all.length() < LONG; i++) {
      all.append(i == 0 ? "" : ",").append(element.replace("#", String.valueOf(i)));
    }
    return all.toString();
  }

  private static byte[] review(String where, String hostile) {
    return bytes(
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','namespace':'team','operation':'CREATE',"
            + "'resource':{'resource':'pods'},'object':{"
            + where.replace("%s", hostile)
            + "}}}");
  }

  /** The pod before and after differ as far as can be. */
  private static byte[] update(String where, String hostile) {
    String pod = where.replace("%s", hostile);
    return bytes(
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','namespace':'team','operation':'UPDATE',"
            + "'resource':{'resource':'pods'},'object':{"
            + pod
            + "},'oldObject':{"
            + pod.replace("'all'", "'void'").replace("'1'", "'10'")
            + "}}}");
  }

  private static byte[] bytes(String text) {
    return text.replace('\'', '"').getBytes(UTF_8);
  }
}
