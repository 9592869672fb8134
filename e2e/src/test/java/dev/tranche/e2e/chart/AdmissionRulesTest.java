package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MatchCondition;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicy;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicySpec;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules that the API server judges by itself, on pods that lack what may be lacking. */
class AdmissionRulesTest {
  private static final String EXTENDER = "system:serviceaccount:tranche:tranche-extender";
  private static final String REQUEST = "'resources':{'limits':{'nvidia.com/gpu':'3'}}";
  static final String HALF = "{'tranche.dev/gpu-fraction':'0.5'}";
  private static final String STAMPED =
      "{'tranche.dev/gpu-fraction':'0.5','tranche.dev/replicas-per-gpu':'10'}";
  private static final List<HasMetadata> CHART = rendered(Map.of());

  private static final List<String> BARE =
      List.of(
          "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a'}]}}",
          "{'metadata':{'annotations':{},'labels':{}},'spec':{'containers':[{'name':'a','resources':{}}],'initContainers':[]}}",
          "{'metadata':{},'spec':{'containers':[{'name':'a','resources':{'limits':{},'requests':{'cpu':'1'}}}],'initContainers':[{'name':'i'}]}}",
          "{'metadata':{},'spec':{'containers':[{'name':'a','resources':{'limits':{'nvidia.com/gpu':'0'},'requests':{'nvidia.com/gpu':'0'}}}]}}");

  static List<String> bare() {
    return BARE;
  }

  @ParameterizedTest
  @MethodSource("bare")
  void barePod_isNoneOfOurBusiness_andBringsNoExpressionToFail(String pod) {
    assertThat(matches(fraction(CHART).getMatchConditions(), json(pod))).isFalse();
    policies()
        // GuardPolicyTest has those with variables.
        .filter(p -> p.getVariables().isEmpty())
        .forEach(
            p -> {
              Stream.concat(
                      p.getMatchConditions().stream().map(MatchCondition::getExpression),
                      p.getValidations().stream().map(v -> v.getExpression()))
                  .forEach(e -> Cel.holds(e, json(pod), json(pod), "someone"));
              assertThat(allowed(p, pod, pod, "someone")).isTrue();
            });
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        HALF + "|'name':'a'| false",
        "{'tranche.dev/gpu-memory.a':'4Gi'} |'name':'a'| false",
        HALF + "|" + REQUEST + "| false",
        STAMPED + "|" + REQUEST + "| true",
        STAMPED + "|'resources':{'limits':{'cpu':'1'}}| false",
        STAMPED + "|'resources':{'limits':{'nvidia.com/gpu':'0'}}| false",
        "{'gpu-fraction':'0.5'} |'name':'a'| true",
        "{'tranche.dev/gpu-model':'a'} |'name':'a'| true",
      })
  void share_needsARequest(String annotations, String container, boolean allowed) {
    var policy = policy("tranche-share-without-request");
    assertThat(allowed(policy, pod(annotations, "{" + container + "}", ""), "{}", "someone"))
        .isEqualTo(allowed);
    assertThat(
            allowed(
                policy,
                pod(annotations, "{}", ",'initContainers':[{" + container + "}]"),
                "{}",
                "someone"))
        .isEqualTo(allowed);
  }

  /**
   * The kubelet runs a static pod by its file; what is done to its mirror changes nothing. Who is
   * no node creates no mirror: an exempt pod that no kubelet runs could hold GPUs for good.
   */
  @ParameterizedTest
  @CsvSource({"system:node:node-1, true", "developer, false", "system:nodes, false"})
  void mirrorOfAStaticPod_isLeftAlone_ifItsNodeCreatesIt(String user, boolean leftAlone) {
    String mirror =
        pod(
            "{'kubernetes.io/config.mirror':'0123','tranche.dev/gpu-fraction':'0.1'}",
            "{}",
            ",'nodeName':'node-1'");
    assertThat(creations(CHART)).hasSizeGreaterThan(1);
    for (MutatingWebhook webhook : creations(CHART)) {
      assertThat(matches(webhook.getMatchConditions(), json(mirror), user))
          .as(webhook.getName())
          .isEqualTo(!leftAlone);
    }
    var policy = policy("tranche-share-without-request");
    assertThat(allowed(policy, mirror, "{}", user)).isEqualTo(leftAlone);
    String pod = mirror.replace("kubernetes.io/config.mirror", "kubernetes.io/config.hash");
    assertThat(allowed(policy, pod, "{}", user)).isFalse();
  }

  /** No kubelet runs or ends such a pod, so with a finalizer kube-scheduler counts it for good. */
  @ParameterizedTest
  @CsvSource({
    "CREATE, developer, 1, false",
    "CREATE, system:node:node-1, 1, true",
    "CREATE, developer, 0, true",
    "UPDATE, developer, 1, true",
  })
  void mirrorThatNoNodeCreates_mayNotRequestGpus(
      String operation, String user, String gpus, boolean allowed) {
    String mirror =
        pod(
            "{'kubernetes.io/config.mirror':'0123'}",
            "{'resources':{'limits':{'nvidia.com/gpu':'" + gpus + "'}}}",
            ",'nodeName':'node-1'");
    Map<String, Object> request = Map.of("userInfo", Cel.user(user), "operation", operation);
    assertThat(Cel.refusals(policy("tranche-pod-size"), request, json(mirror), json(mirror)))
        .hasSize(allowed ? 0 : 1);
  }

  /**
   * The ways to a GPU on which the webhook cannot deny a pod. A number and a share of one pod must
   * not say different things there either: see DoorsTest of the webhook.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // namespace | scheduler | number of GPUs | annotations | allowed
        "team | default-scheduler | 1 | {} | true",
        "team | default-scheduler | 0 |" + HALF + "| false",
        "team | default-scheduler | 1 |" + HALF + "| false",
        "team | tranche-scheduler | 1 |" + HALF + "| false",
        "team | default-scheduler | 5 |" + STAMPED + "| true",
        "team | hub | 1 | {} | true",
        "team | hub | 0 |" + HALF + "| true",
        "team | hub | 1 |" + HALF + "| false",
        // An old webhook's conversion, whose scheduler has another name since an upgrade.
        "team | hub | 5 |" + STAMPED + "| true",
        "kube-system | default-scheduler | 1 | {} | true",
        "kube-system | default-scheduler | 0 |" + HALF + "| false",
        "kube-system | default-scheduler | 1 |" + HALF + "| false",
        "kube-system | tranche-scheduler | 1 |" + STAMPED + "| false",
        "kube-system | hub | 1 | {} | true",
        "kube-system | hub | 1 |" + HALF + "| false",
        "kube-system | hub | 5 |" + STAMPED + "| false",
        "tranche | default-scheduler | 1 |" + STAMPED + "| false",
      })
  void shareAndNumber_whereNoWebhookLooks(
      String namespace, String scheduler, int gpus, String annotations, boolean allowed) {
    String container = "{'resources':{'limits':{'nvidia.com/gpu':'" + gpus + "'}}}";
    for (String node : List.of("", ",'nodeName':'n'")) {
      String scheduled = ",'schedulerName':'" + scheduler + "'" + node;
      String app = pod(annotations, container, scheduled);
      String sidecar = pod(annotations, "{}", ",'initContainers':[" + container + "]" + scheduled);
      for (String pod : List.of(app, sidecar)) {
        Map<String, Object> request =
            Map.of("userInfo", Map.of("username", "a"), "namespace", namespace);
        assertThat(
                Cel.refusals(policy("tranche-share-without-request"), request, json(pod), Map.of())
                    .isEmpty())
            .isEqualTo(allowed);
      }
    }
    // An update that adds the annotation.
    String plain = pod("{}", container, "");
    assertThat(
            allowed(
                policy("tranche-fixed-annotations"), pod(annotations, container, ""), plain, "a"))
        .isEqualTo(annotations.equals("{}"));
  }

  /** It reads its own annotations. */
  @Test
  void podOfAnotherSystemsScheduler_isItsOwn() {
    var kai =
        rendered(Map.of("webhook.compat.kai", true)).stream()
            .filter(o -> o.getMetadata().getName().equals("tranche-share-without-request"))
            .filter(ValidatingAdmissionPolicy.class::isInstance)
            .map(o -> ((ValidatingAdmissionPolicy) o).getSpec())
            .findFirst()
            .orElseThrow();
    String pod = pod("{'gpu-fraction':'0.5'%s}", "{" + REQUEST + "}", ",'schedulerName':'kai'");
    assertThat(allowed(kai, pod.formatted(""), "{}", "a")).isTrue();
    assertThat(allowed(kai, pod.formatted(",'tranche.dev/gpu-fraction':'1'"), "{}", "a")).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        STAMPED + "|" + STAMPED + "| true",
        STAMPED + "|{'tranche.dev/gpu-fraction':'1','tranche.dev/replicas-per-gpu':'10'}| false",
        STAMPED + "|{'tranche.dev/gpu-fraction':'0.5','tranche.dev/replicas-per-gpu':'1'}| false",
        STAMPED + "|" + HALF + "| false",
        STAMPED + "|null| false",
        "null|" + HALF + "| false",
        "{}|{'tranche.dev/gpu':'GPU-1'}| false",
        "{'tranche.dev/gpu':'GPU-1'}|{'tranche.dev/gpu':'GPU-2'}| false",
        HALF + "|{'tranche.dev/gpu-fraction':'0.5','granted':'x'}| true",
        "{'a':'b'}|null| true",
      })
  void whatWasAskedAndGranted_isFixed(String before, String after, boolean allowed) {
    var policy = policy("tranche-fixed-annotations");
    String old = pod(before, "{}", "");
    String now = pod(after, "{}", "");
    assertThat(allowed(policy, now, old, "someone")).isEqualTo(allowed);
    assertThat(allowed(policy, now, old, EXTENDER)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "nvidia.com/gpu, 64, 0, 256, true",
    "nvidia.com/gpu, 65, 0, 0, false",
    "nvidia.com/gpu, 0, 0, 257, false",
    "nvidia.com/gpu, 65, 65, 0, true",
    "nvidia.com/gpu, 66, 65, 0, false",
    "cpu, 7000, 0, 257, true",
  })
  void podThatRequestsGpus_isBoundedInLabelsAndAnnotations(
      String resource, int labels, int before, int annotations, boolean allowed) {
    String limits = "{'resources':{'limits':{'%s':'1'}}}".formatted(resource);
    String pod = sized(labels, annotations, limits);
    String old = before == 0 ? "{}" : sized(before, 0, limits);
    assertThat(allowed(policy("tranche-pod-size"), pod, old, "someone")).isEqualTo(allowed);
  }

  /** A LimitRange writes it into every container. */
  @Test
  void podThatRequestsNoneOfAGpu_mayHaveAnyNumberOfLabels() {
    String none = "{'resources':{'limits':{'nvidia.com/gpu':'0'}}}";
    String pod = sized(65, 257, none);
    assertThat(allowed(policy("tranche-pod-size"), pod, "{}", "someone")).isTrue();
    String gpu = none + "],'initContainers':[{'resources':{'limits':{'nvidia.com/gpu':'1'}}}";
    assertThat(allowed(policy("tranche-pod-size"), sized(65, 0, gpu), "{}", "someone")).isFalse();
  }

  private static String sized(int labels, int annotations, String container) {
    return "{'metadata':{'labels':{%s},'annotations':{%s}},'spec':{'containers':[%s]}}"
        .formatted(entries(labels), entries(annotations), container);
  }

  private static String entries(int count) {
    return IntStream.range(0, count).mapToObj(i -> "'k" + i + "':'v'").collect(joining(","));
  }

  @Test
  void bindingWithOurWords_isTheExtendersAlone() {
    var policy = policy("tranche-binding-annotations");
    String ours = "{'metadata':{'annotations':{'tranche.dev/gpu':'GPU-1'}},'target':{'name':'n'}}";
    assertThat(allowed(policy, ours, "{}", EXTENDER)).isTrue();
    assertThat(allowed(policy, ours, "{}", "system:kube-scheduler")).isFalse();
    String plain = "{'metadata':{'name':'p'},'target':{'name':'n'}}";
    assertThat(allowed(policy, plain, "{}", "system:kube-scheduler")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'metadata':{'annotations':{'tranche.dev/gpu-fraction':'1'}},'spec':{'containers':[{'name':'a'}]}}",
        "{'metadata':{},'spec':{'containers':[{'resources':{'limits':{'nvidia.com/gpu':'1'}}}]}}",
        "{'metadata':{},'spec':{'containers':[{'resources':{'requests':{'nvidia.com/gpu':'1'}}}]}}",
        "{'metadata':{},'spec':{'containers':[{}],'initContainers':[{'resources':{'limits':{'nvidia.com/gpu':'1'}}}]}}",
      })
  void podThatAsks_isSentToTheWebhook(String pod) {
    assertThat(matches(fraction(CHART).getMatchConditions(), json(pod))).isTrue();
  }

  @Test
  void othersWords_bringAPodToTheWebhook_whereTheyAreSwitchedOn() {
    var kai = json(pod("{'gpu-fraction':'0.5'}", "{}", ""));
    var hami = json(pod("null", "{'resources':{'limits':{'nvidia.com/gpumem':'4096'}}}", ""));
    var both = fraction(rendered(Map.of("webhook.compat.kai", true, "webhook.compat.hami", true)));
    assertThat(matches(both.getMatchConditions(), kai)).isTrue();
    assertThat(matches(both.getMatchConditions(), hami)).isTrue();
    var bounded = json(pod("{'nvidia.com/container.a.gpu-memory.limit':'8Gi'}", "{}", ""));
    assertThat(matches(both.getMatchConditions(), bounded)).isTrue();
    assertThat(matches(fraction(CHART).getMatchConditions(), bounded)).isFalse();
    assertThat(matches(fraction(CHART).getMatchConditions(), kai)).isFalse();
    assertThat(matches(fraction(CHART).getMatchConditions(), hami)).isFalse();
  }

  /** Otherwise no finalizer of a GPU pod would go while the webhook is down. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // Labels, finalizers, tolerations and the end of a pod.
        "'metadata':{'annotations':%s},'spec':{'containers':[{'name':'a'}]}"
            + " |'metadata':{'labels':{'a':'b'},'annotations':%s},'spec':{'tolerations':[],'containers':[{'name':'a'}]}"
            + " | false",
        "'metadata':{'finalizers':['f'],'annotations':%s},'spec':{'containers':[{'name':'a'}]}"
            + " |'metadata':{'deletionTimestamp':'x','annotations':%s},'spec':{'containers':[{'name':'a'}]}"
            + " | false",
        "'metadata':{'annotations':%s},'spec':{'containers':[{'name':'a','image':'a'}]}"
            + " |'metadata':{'annotations':%s},'spec':{'containers':[{'name':'a','image':'b'}]} |"
            + " true",
        "'metadata':{'annotations':%s},'spec':{'containers':[],'initContainers':[{'image':'a'}]}"
            + " |'metadata':{'annotations':%s},'spec':{'containers':[],'initContainers':[{'image':'b'}]}"
            + " | true",
        "'metadata':{'annotations':%s},'spec':{'containers':[],'schedulerName':'a'}"
            + " |'metadata':{'annotations':%s},'spec':{'containers':[],'schedulerName':'b'} | true",
        "'metadata':{'annotations':%s},'spec':{'containers':[],'affinity':{}}"
            + " |'metadata':{'annotations':%s},'spec':{'containers':[],'affinity':{'a':1}} | true",
        "'metadata':{'annotations':{}},'spec':{'containers':[{'image':'a'}]}"
            + " |'metadata':{'annotations':%s},'spec':{'containers':[{'image':'b'}]} | false",
        "'metadata':{},'spec':{'containers':[{'image':'a'}]}"
            + " |'metadata':{},'spec':{'containers':[{'image':'b'}]} | false",
        "'metadata':{},'spec':{'schedulerName':'tranche-scheduler','containers':[{'image':'a'}]}"
            + " |'metadata':{},'spec':{'schedulerName':'default-scheduler','containers':[{'image':'a'}]}"
            + " | true",
      })
  void updateOfAGpuPod_isSentOnlyWhereItChangesWhatIsFixed(
      String before, String after, boolean sent) {
    assertThat(
            isSent(
                "fraction-update.tranche.dev",
                "{" + before.replace("%s", STAMPED) + "}",
                "{" + after.replace("%s", STAMPED) + "}"))
        .isEqualTo(sent);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'image':'a','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]|'image':'b','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]|"
            + " false",
        "'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]|'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]|"
            + " true",
        "'image':'a'|'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]| true",
        "'image':'a'|'env':[{'name':'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT','value':'1'}]| true",
        "'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]|'env':[]| false",
        "'image':'a'|'env':[{'name':'A','value':'all'}],'volumeMounts':[{'mountPath':'/data'}]|"
            + " false",
        "'volumeMounts':[]|'volumeMounts':[{'mountPath':'/var/run/nvidia-container-devices/all'}]|"
            + " true",
        "'volumeMounts':[{'mountPath':'/var/run/nvidia-container-devices/all'}]|'volumeMounts':[{'mountPath':'/var/run/nvidia-container-devices/all'}]|"
            + " false",
      })
  void updateOfAnyPod_isSentToTheGuard_onlyWhereItNamesDevicesAnew(
      String before, String after, boolean sent) {
    String pod = "{'metadata':{},'spec':{'containers':[{'name':'a',%s}]}}";
    String init =
        "{'metadata':{},'spec':{'containers':[{'name':'m'}],'initContainers':[{'name':'a',%s}]}}";
    for (String form : List.of(pod, init)) {
      assertThat(
              isSent(
                  "guard-update.tranche.dev",
                  form.replace("%s", before),
                  form.replace("%s", after)))
          .isEqualTo(sent);
    }
  }

  @Test
  void updates_goOnWithoutAWebhook_whateverIsConfigured() {
    var closed = rendered(Map.of("guard.failurePolicy", "Fail"));
    assertThat(updates(closed))
        .extracting(MutatingWebhook::getName)
        .containsExactly("fraction-update.tranche.dev", "guard-update.tranche.dev");
    assertThat(updates(closed))
        .allSatisfy(
            webhook -> {
              assertThat(webhook.getFailurePolicy()).isEqualTo("Ignore");
              assertThat(webhook.getRules())
                  .singleElement()
                  .satisfies(
                      rule -> {
                        assertThat(rule.getResources()).containsExactly("pods");
                        assertThat(rule.getOperations()).containsExactly("UPDATE");
                      });
            });
    assertThat(updates(rendered(Map.of("guard.enabled", false))))
        .extracting(MutatingWebhook::getName)
        .containsExactly("fraction-update.tranche.dev");
  }

  private static boolean isSent(String webhook, String before, String after) {
    MutatingWebhook entry =
        webhooks(CHART).stream().filter(w -> w.getName().equals(webhook)).findFirst().orElseThrow();
    return entry.getMatchConditions().stream()
        .allMatch(c -> Cel.holds(c.getExpression(), json(after), json(before), "someone"));
  }

  private static List<MutatingWebhook> updates(List<HasMetadata> chart) {
    return webhooks(chart).stream().filter(w -> w.getName().contains("-update.")).toList();
  }

  private static List<MutatingWebhook> creations(List<HasMetadata> chart) {
    return webhooks(chart).stream().filter(w -> !w.getName().contains("-update.")).toList();
  }

  /** By the path, so that a webhook that is about to go answers by new values, too. */
  @Test
  void plainRequests_countGpus_unlessAConfigInNvidiasFormatIsBrought() {
    assertThat(plainPath(Map.of())).isEqualTo("/mutate/fraction/plain-gpus");
    assertThat(plainPath(Map.of("config.name", "mine"))).isEqualTo("/mutate/fraction");
    assertThat(plainPath(Map.of("config.map.default", "version: v1")))
        .isEqualTo("/mutate/fraction");
    assertThat(plainPath(Map.of("nodePlugin.enabled", false))).isEqualTo("/mutate/fraction");
    assertThat(plainPath(Map.of("config.name", "mine", "plainRequests", "gpus")))
        .isEqualTo("/mutate/fraction/plain-gpus");
    assertThat(plainPath(Map.of("plainRequests", "replicas"))).isEqualTo("/mutate/fraction");
  }

  @Test
  void namespaceThatOptsOut_hasAnEntryThatLeavesPlainRequestsUnchanged() {
    var entries = fractions(CHART);
    assertThat(entries)
        .extracting(w -> w.getClientConfig().getService().getPath())
        .containsExactly("/mutate/fraction/plain-gpus", "/mutate/fraction/plain-unchanged");
    assertSplitBy(entries, "tranche.dev/plain-requests", "unchanged");
  }

  /**
   * One of the entries is for namespaces without the label's value, the other for those with it.
   */
  private static void assertSplitBy(List<MutatingWebhook> entries, String label, String value) {
    assertThat(entries)
        .extracting(w -> w.getNamespaceSelector().getMatchExpressions().getLast())
        .allMatch(e -> e.getKey().equals(label))
        .allMatch(e -> e.getValues().equals(List.of(value)))
        .extracting(e -> e.getOperator())
        .containsExactly("NotIn", "In");
    assertThat(entries.getFirst().getMatchConditions())
        .isEqualTo(entries.getLast().getMatchConditions());
  }

  @Test
  void namespacesThatHamisWebhookLeavesAlone_haveAnEntryWithoutItsWords() {
    assertThat(fractions(CHART)).hasSize(2);
    assertThat(fraction(CHART).getNamespaceSelector().getMatchExpressions()).hasSize(2);
    var entries = fractions(rendered(Map.of("webhook.compat.hami", true))).subList(0, 2);
    assertThat(entries)
        .extracting(w -> w.getClientConfig().getService().getPath())
        .containsExactly("/mutate/fraction/plain-gpus", "/mutate/fraction/plain-gpus/without-hami");
    assertSplitBy(entries, "hami.io/webhook", "ignore");
  }

  @Test
  void everyPolicy_isBound_andItsSentenceIsExplained() throws Exception {
    String page = Files.readString(Path.of("../docs/errors.md"));
    String bindings =
        CHART.stream()
            .filter(o -> o.getKind().equals("ValidatingAdmissionPolicyBinding"))
            .map(o -> o.getMetadata().getName())
            .sorted()
            .collect(joining(","));
    assertThat(bindings)
        .isEqualTo(
            CHART.stream()
                .filter(ValidatingAdmissionPolicy.class::isInstance)
                .map(o -> o.getMetadata().getName())
                .sorted()
                .collect(joining(",")));
    policies()
        .flatMap(p -> p.getValidations().stream())
        // The API server refuses a policy whose message has a line break.
        .peek(v -> assertThat(v.getMessage()).doesNotContain("\n"))
        .forEach(
            v ->
                assertThat(page)
                    .contains(
                        v.getMessage()
                            .substring(0, v.getMessage().indexOf(':') + 1)
                            // A messageExpression names it.
                            .replaceFirst("^an? (container|volume|annotation) ", "")));
  }

  static boolean allowed(
      ValidatingAdmissionPolicySpec policy, String object, String oldObject, String username) {
    Map<String, Object> request =
        Map.of("userInfo", Cel.user(username), "operation", "UPDATE", "namespace", "team");
    return Cel.refusals(policy, request, json(object), json(oldObject)).isEmpty();
  }

  private static boolean matches(List<MatchCondition> conditions, Map<String, ?> pod) {
    return matches(conditions, pod, "someone");
  }

  private static boolean matches(List<MatchCondition> conditions, Map<String, ?> pod, String user) {
    return conditions.stream().allMatch(c -> Cel.holds(c.getExpression(), pod, Map.of(), user));
  }

  static String pod(String annotations, String container, String fields) {
    String metadata = annotations.equals("null") ? "" : "'annotations':" + annotations;
    return "{'metadata':{%s},'spec':{'containers':[%s]%s}}".formatted(metadata, container, fields);
  }

  private static String plainPath(Map<String, Object> values) {
    return fraction(rendered(values)).getClientConfig().getService().getPath();
  }

  private static MutatingWebhook fraction(List<HasMetadata> chart) {
    return fractions(chart).getFirst();
  }

  private static List<MutatingWebhook> fractions(List<HasMetadata> chart) {
    return webhooks(chart).stream()
        .filter(w -> w.getName().endsWith("fraction.tranche.dev"))
        .toList();
  }

  private static List<MutatingWebhook> webhooks(List<HasMetadata> chart) {
    return chart.stream()
        .filter(MutatingWebhookConfiguration.class::isInstance)
        .flatMap(c -> ((MutatingWebhookConfiguration) c).getWebhooks().stream())
        .toList();
  }

  static Stream<ValidatingAdmissionPolicySpec> policies() {
    return CHART.stream()
        .filter(ValidatingAdmissionPolicy.class::isInstance)
        .map(p -> ((ValidatingAdmissionPolicy) p).getSpec());
  }

  static ValidatingAdmissionPolicySpec policy(String name) {
    return CHART.stream()
        .filter(o -> o.getMetadata().getName().equals(name))
        .filter(ValidatingAdmissionPolicy.class::isInstance)
        .map(p -> ((ValidatingAdmissionPolicy) p).getSpec())
        .findFirst()
        .orElseThrow();
  }

  static List<HasMetadata> rendered(Map<String, Object> values) {
    String text = Chart.render(values);
    return documents(text)
        .filter(document -> document.contains("admissionregistration.k8s.io/v1"))
        .map(document -> (HasMetadata) Serialization.unmarshal(document))
        .toList();
  }

  @SuppressWarnings("unchecked")
  static Map<String, ?> json(String text) {
    return Serialization.unmarshal(text.replace('\'', '"'), Map.class);
  }
}
