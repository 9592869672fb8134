package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.LabelSelectorRequirement;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicy;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicyBinding;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicySpec;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The guard's rules that the API server evaluates, and what the webhook's account may change. */
class GuardPolicyTest {
  /** Pods, their namespace's mode, who decides, and what. */
  static final String CASES = "../webhook/src/test/resources/guard-cases.txt";

  private static final String VOID = "'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}]";
  private static final String GPU = "'resources':{'limits':{'nvidia.com/gpu':'3'}}";
  private static final Map<String, Object> CREATE = request("CREATE");
  private static final Map<String, Object> UPDATE = request("UPDATE");
  private static final String CHART = Chart.render(Map.of());

  /** The other halves of the file are GuardTest's of the webhook, and GuardPolicyE2E's. */
  @ParameterizedTest
  @CsvFileSource(files = CASES, delimiter = '|', quoteCharacter = '`')
  void pod_isRefusedAsTheFileSays(String fields, String mode, String decides, String expected) {
    if (mode.equals("deny") && !decides.equals("webhook")) {
      var pod = json("{" + (fields.contains("'metadata'") ? "" : "'metadata':{},") + fields + "}");
      List<String> refusals = new ArrayList<>(refusals(pod));
      refusals.addAll(Cel.refusals(policy(Map.of(), ANNOTATIONS), CREATE, pod, null));
      if (decides.equals("policy")) {
        assertThat(refusals).singleElement().asString().contains(expected);
      } else {
        assertThat(refusals).isEmpty();
      }
    }
  }

  @Test
  void containerThatIsNotTheFirst_isNamed() {
    String two = ",'initContainers':[{'name':'first',%s},{'name':'second'}]".formatted(VOID);
    assertThat(refusals(pod(VOID, two)))
        .singleElement()
        .asString()
        .startsWith("container \"second\" has neither a GPU");
  }

  /** A pod of somebody else that claims to be one is judged: it may hold GPUs without running. */
  @Test
  void mirrorOfAStaticPod_isLeftAlone_ifItsNodeCreatesIt_andNoOtherObjectBecomesOne() {
    String annotations =
        "{'metadata':{'annotations':{'kubernetes.io/config.mirror':'0123','cdi.k8s.io/a':'b'}}%s}";
    String mirror = ",'spec':{'hostNetwork':true,'containers':[{'name':'a'}]}";
    var byNode = request("CREATE");
    byNode.put("userInfo", Cel.user("system:node:node-1"));
    for (String name : List.of("tranche-guard", ANNOTATIONS)) {
      var policy = policy(Map.of(), name);
      var pod = json(annotations.formatted(mirror));
      assertThat(Cel.refusals(policy, byNode, pod, null)).as(name).isEmpty();
      assertThat(Cel.refusals(policy, CREATE, pod, null)).as(name).isNotEmpty();
    }
    var policy = policy(Map.of(), ANNOTATIONS);
    var binding = json(annotations.formatted(",'target':{'name':'n'}"));
    assertThat(Cel.refusals(policy, byNode, binding, null)).hasSize(1);
    String updated = ",'spec':{'containers':[{'name':'a'}]}";
    assertThat(
            Cel.refusals(
                policy,
                UPDATE,
                json(annotations.formatted(updated)),
                json("{'metadata':{}" + updated + "}")))
        .hasSize(1);
  }

  @Test
  void listedHostPath_isAdmitted_butNothingBelowIt() {
    var policy = policy(values("guard.allowedHostPaths[0]", "/etc/localtime"), "tranche-guard");
    String mounting = ",'volumes':[{'name':'h','hostPath':{'path':'%s'}}]";
    assertThat(Cel.refusals(policy, CREATE, pod(VOID, mounting.formatted("/etc/localtime")), null))
        .isEmpty();
    assertThat(
            Cel.refusals(policy, CREATE, pod(VOID, mounting.formatted("/etc/localtime/x")), null))
        .hasSize(1);
  }

  @Test
  void listedHostPaths_doNotContainEachOther() {
    var nested = values("guard.allowedHostPaths[0]", "/srv");
    nested.put("guard.allowedHostPaths[1]", "/srv/data");
    assertThatThrownBy(() -> Chart.render(nested))
        .hasMessageContaining("guard.allowedHostPaths has /srv and, below it, /srv/data");
  }

  /**
   * In v1, with alternatives, as v1beta1 has it, and in forms that are not known. A class of an
   * administrator's own may have the GPUs of any driver.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'devices':{'requests':[{'name':'g','exactly':{'deviceClassName':'CLASS'}}]}}",
        "{'devices':{'requests':[{'name':'g','firstAvailable':[{'name':'a','deviceClassName':'nic'},{'name':'b','deviceClassName':'CLASS'}]}]}}",
        "{'devices':{'requests':[{'name':'g','deviceClassName':'CLASS'}]}}",
        "{'resourceClassName':'CLASS'}",
      })
  void claimOfAClassThatIsNotListed_isRefused_asATemplateToo(String devices) {
    for (String spec :
        List.of("{'metadata':{},'spec':DEVICES}", "{'metadata':{},'spec':{'spec':DEVICES}}")) {
      String claim = spec.replace("DEVICES", devices);
      for (String gpu : List.of("gpu.nvidia.com", "h100.example.com")) {
        assertThat(claimRefusals(claim.replace("CLASS", gpu), "nic"))
            .singleElement()
            .asString()
            .contains("denies claims of DeviceClasses");
      }
      assertThat(claimRefusals(claim.replace("CLASS", "nic"), "nic")).isEmpty();
      assertThat(claimRefusals(claim.replace("CLASS", "nic"))).hasSize(1);
    }
  }

  @Test
  void claimOfNothing_isAdmitted_andARequestOfAnUnknownFormIsNot() {
    assertThat(claimRefusals("{'metadata':{},'spec':{}}")).isEmpty();
    assertThat(claimRefusals("{'metadata':{},'spec':{'devices':{}}}")).isEmpty();
    String unknown = "{'metadata':{},'spec':{'devices':{'requests':[{'name':'g','new':{}}]}}}";
    assertThat(claimRefusals(unknown, "nic")).hasSize(1);
  }

  private static List<String> claimRefusals(String claim, String... allowed) {
    return Cel.refusals(
        policy(allowed(allowed), "tranche-guard-claims"), CREATE, json(claim), null);
  }

  private static Map<String, Object> allowed(String... classes) {
    var values = new HashMap<String, Object>();
    for (int i = 0; i < classes.length; i++) {
      values.put("guard.deviceClasses[" + i + "]", classes[i]);
    }
    return values;
  }

  @Test
  void listedDeviceClass_mayBeRequestedByItsName_andAnotherMayNot() {
    var policy = policy(allowed("nic"), "tranche-guard");
    String limits = VOID + ",'resources':{'limits':{'deviceclass.resource.kubernetes.io/%s':'1'}}";
    assertThat(Cel.refusals(policy, CREATE, pod(limits.formatted("nic"), ""), null)).isEmpty();
    assertThat(Cel.refusals(policy, CREATE, pod(limits.formatted("nic2"), ""), null))
        .singleElement()
        .asString()
        .contains("requests a DeviceClass");
  }

  /** Before, the list was of what is denied: taken as it is, it would allow what it denied. */
  @Test
  void listOfBefore_isRefused() {
    assertThatThrownBy(() -> Chart.render(allowed("nic", "gpu.nvidia.com")))
        .hasMessageContaining("guard.deviceClasses lists the DeviceClasses that are allowed")
        .hasMessageContaining("gpu.nvidia.com");
    var ofTheChart = allowed("gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com");
    assertThat(Chart.render(ofTheChart)).as("by --reuse-values").isEqualTo(CHART);
    assertThat(Chart.render(Map.of("guard.enabled", false))).doesNotContain("guard-claims");
  }

  /** The kubelet runs such a pod even if its node lacks the resource. */
  @Test
  void podThatNamesItsNode_countsByTheResourcesThatTheWebhookJudges() {
    String mig = "'resources':{'limits':{'nvidia.com/mig-1g.5gb':'1'}}";
    assertThat(refusals(pod(mig, ",'nodeName':'n'"))).hasSize(1);
    assertThat(refusals(pod(GPU, ",'nodeName':'n'"))).isEmpty();
  }

  @Test
  void withoutNvidiaAsTheDefaultRuntime_onlyPodsWithARuntimeClassNeedTheVoid() {
    var policy = policy(values("guard.assumeDefaultRuntime", false), "tranche-guard");
    assertThat(Cel.refusals(policy, CREATE, pod("'name':'x'", ""), null)).isEmpty();
    var classed = pod("'name':'x'", ",'runtimeClassName':'nvidia'");
    assertThat(Cel.refusals(policy, CREATE, classed, null)).hasSize(1);
  }

  @Test
  void exemptPods_areLeftAlone() {
    assertThat(refusals(pod("'name':'x'", ",'os':{'name':'windows'}"))).isEmpty();
    var policy = policy(values("guard.exemptServiceAccounts[0]", "team:monitor"), "tranche-guard");
    var monitor = pod("'name':'x'", ",'serviceAccountName':'monitor'");
    assertThat(Cel.refusals(policy, CREATE, monitor, null)).isEmpty();
    assertThat(Cel.refusals(policy, CREATE, pod("'name':'x'", ""), null)).hasSize(1);
  }

  @Test
  void debugContainer_isJudged_butWhatRunsIsNot() {
    String before = ",'hostNetwork':true,'ephemeralContainers':[{'name':'old'}]";
    String good = before.replace("}]", "},{'name':'new'," + VOID + "}]");
    String bad = before.replace("}]", "},{'name':'new'}]");
    var policy = policy(Map.of(), "tranche-guard");
    var old = pod("'name':'x'", before);
    assertThat(Cel.refusals(policy, UPDATE, pod("'name':'x'", good), old)).isEmpty();
    assertThat(Cel.refusals(policy, UPDATE, pod("'name':'x'", bad), old))
        .singleElement()
        .asString()
        .startsWith("container \"new\" has neither");
  }

  @ParameterizedTest
  @CsvSource({
    "cdi.k8s.io/x,true",
    "nvidia.cdi.k8s.io/container.main,true",
    "a.example/x,true",
    "devices.nri.io/container.main,true",
    "cdi-devices.nri.io,true",
    "mounts.nri.io,true",
    "devices.noderesource.dev/pod,true",
    "io.kubernetes.cri-o.Devices,true",
    "devices.crio.io/main,true",
    "io.kubernetes.cri-o.Device,false",
    "nri.io/a,false",
    "example.com/devices,false"
  })
  void annotationThatIsADevice_cannotBeAddedOrChanged(String key, boolean device) {
    var policy = policy(values("guard.cdiAnnotationPrefixes[0]", "a.example/"), ANNOTATIONS);
    var bare = json("{'metadata':{},'spec':{}}");
    var with = annotated(key, "1");
    var changed = annotated(key, "2");
    int refused = device ? 1 : 0;
    assertThat(Cel.refusals(policy, CREATE, with, null)).hasSize(refused);
    assertThat(Cel.refusals(policy, UPDATE, with, bare)).hasSize(refused);
    assertThat(Cel.refusals(policy, UPDATE, changed, with)).hasSize(refused);
    assertThat(Cel.refusals(policy, UPDATE, with, with)).isEmpty();
    assertThat(Cel.refusals(policy, UPDATE, bare, with)).isEmpty();
    var binding = json("{'metadata':{'annotations':{'%s':'1'}},'target':{}}".formatted(key));
    assertThat(Cel.refusals(policy, CREATE, binding, null)).hasSize(refused);
  }

  private static final String ANNOTATIONS = "tranche-guard-annotations";

  @Test
  void policies_applyWhereTheGuardDoes() {
    assertThat(namespaces(Map.of(), "tranche-guard")).endsWith("tranche.dev/guard In [deny]");
    assertThat(namespaces(Map.of("guard.mode", "deny"), "tranche-guard"))
        .endsWith("tranche.dev/guard NotIn [exempt, audit, void]");
    assertThat(namespaces(Map.of(), ANNOTATIONS)).endsWith("NotIn [exempt, audit]");
    assertThat(namespaces(Map.of("guard.mode", "audit"), ANNOTATIONS))
        .endsWith("tranche.dev/guard In [void, deny]");
    assertThat(namespaces(values("guard.exemptNamespaces[0]", "mine"), "tranche-guard"))
        .startsWith("kubernetes.io/metadata.name NotIn [tranche, kube-system, mine]");
    assertThat(namespaces(Map.of(), "tranche-guard"))
        .as("under deny, a namespace of the chart's own list may be anybody's")
        .startsWith("kubernetes.io/metadata.name NotIn [tranche, kube-system]");
    assertThat(namespaces(Map.of(), ANNOTATIONS))
        .startsWith("kubernetes.io/metadata.name NotIn [tranche, kube-system, gpu-operator,");
    assertThat(Chart.render(Map.of("guard.enabled", false))).doesNotContain("tranche-guard");
  }

  /** What deny refuses is decided by the policies alone. */
  @Test
  void withoutThePolicies_denyIsRefused_andANamespacesLabelCountsAsVoid() {
    var without = values("webhook.admissionPolicies", false);
    assertThat(Chart.render(without))
        .contains("values: [deny]", "path: /mutate/guard/void")
        .doesNotContain("path: /mutate/guard/deny");
    without.put("guard.mode", "deny");
    assertThatThrownBy(() -> Chart.render(without))
        .hasMessageContaining("guard.mode=deny needs webhook.admissionPolicies");
  }

  @Test
  void page_hasEveryRule() throws IOException {
    String page = Files.readString(Path.of("../docs/guard.md"));
    for (Map<String, Object> rule : rules()) {
      String subject =
          rule.containsKey("pod") ? "pod" : rule.containsKey("volume") ? "volume" : "container";
      String refuses = String.valueOf(rule.get("refuses")).split("\\. ", 2)[0];
      assertThat(page)
          .contains(
              "| `%s` | a %s %s | %s |"
                  .formatted(rule.get("name"), subject, refuses, rule.get("reason")));
    }
  }

  /** A field that a later release adds fails here until it is in the policy. */
  @Test
  void webhooksAccount_changesNoOtherField() {
    var fields = new TreeSet<String>();
    Arrays.stream(MutatingWebhook.class.getDeclaredFields())
        .map(Field::getName)
        .filter(name -> !name.equals("additionalProperties") && !name.equals("clientConfig"))
        .forEach(fields::add);
    assertThat(fields).contains("rules", "namespaceSelector");
    for (String field : fields) {
      String plain = configuration("'clientConfig':{}");
      String changed =
          field.equals("name")
              ? plain.replace("'w'", "'v'")
              : configuration("'clientConfig':{},'%s':['a']".formatted(field));
      assertThat(ownRefusals(changed, plain, "UPDATE")).as(field).hasSize(1);
      assertThat(ownRefusals(plain, changed, "UPDATE")).as(field).hasSize(1);
    }
    for (String field : List.of("labels", "annotations", "ownerReferences", "finalizers")) {
      String plain = configuration("'clientConfig':{}");
      String changed = plain.replace("'name':'c'", "'name':'c','%s':['a']".formatted(field));
      assertThat(ownRefusals(changed, plain, "UPDATE")).as(field).hasSize(1);
    }
    String one = configuration("'clientConfig':{}");
    assertThat(ownRefusals(one, one, "CREATE")).hasSize(1);
    assertThat(ownRefusals(one, one.replace("'webhooks'", "'none'"), "UPDATE")).hasSize(1);
  }

  @Test
  void othersChangeTheConfigurationAsBefore() {
    var policy = policy(Map.of(), "tranche-own-configuration");
    var request = new HashMap<>(UPDATE);
    request.put("userInfo", Cel.user("admin"));
    assertThat(
            Cel.refusals(
                policy,
                request,
                json(configuration("'clientConfig':{'url':'https://example.com'}")),
                json(configuration("'clientConfig':{}"))))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "{}, true",
    "{'labels':{'a':'b'}}, true",
    "{'labels':{'tranche.dev/guard':'exempt'}}, true",
    "{'labels':{'tranche.dev/guard':'audit'}}, true",
    "{'labels':{'tranche.dev/guard':'void'}}, true",
    "{'labels':{'tranche.dev/guard':'deny'}}, true",
    "{'labels':{'tranche.dev/guard':'Deny'}}, false",
    "{'labels':{'tranche.dev/guard':''}}, false",
    "{'labels':{'tranche.dev/guard':'true'}}, false",
  })
  void namespacesLabel_isWarnedOf_ifItIsNoMode(String metadata, boolean mode) {
    var namespace = json("{'metadata':" + metadata + "}");
    var policy = policy(Map.of(), "tranche-guard-label");
    assertThat(Cel.refusals(policy, UPDATE, namespace, namespace)).hasSize(mode ? 0 : 1);
    assertThat(
            objects(Map.of(), ValidatingAdmissionPolicyBinding.class, "tranche-guard-label")
                .getSpec()
                .getValidationActions())
        .containsExactly("Warn");
  }

  /** Who may create or label namespaces would otherwise be exempt from the guard. */
  @ParameterizedTest
  @CsvSource({
    // name, label before, label after, allowed to everybody
    "team, new, none, true",
    "team, new, deny, true",
    "team, new, exempt, false",
    "team, new, void, false",
    "team, new, Deny, false",
    "kube-system, new, none, false",
    "tranche, new, none, false",
    "gpu-operator, new, none, false",
    "dcgm-exporter, new, deny, false",
    "gpu-operator, none, none, true",
    "team, none, exempt, false",
    "team, none, deny, true",
    "team, exempt, exempt, true",
    "team, exempt, audit, false",
    "team, deny, none, false",
  })
  void exemption_isOfNamespacesThatWhoChangesTheGuardCreatesAndLabels(
      String name, String before, String after, boolean allowed) {
    var policy = policy(Map.of(), "tranche-guard-namespaces");
    var request = request(before.equals("new") ? "CREATE" : "UPDATE");
    var old = before.equals("new") ? null : namespace(name, before);
    assertThat(Cel.refusals(policy, request, namespace(name, after), old)).hasSize(allowed ? 0 : 1);
    request.put(
        Cel.RIGHT, "admissionregistration.k8s.io validatingadmissionpolicies tranche-guard update");
    assertThat(Cel.refusals(policy, request, namespace(name, after), old)).isEmpty();
  }

  private static Map<String, ?> namespace(String name, String mode) {
    String labels = mode.equals("none") ? "" : ",'labels':{'tranche.dev/guard':'" + mode + "'}";
    return json("{'metadata':{'name':'%s'%s}}".formatted(name, labels));
  }

  private static List<String> ownRefusals(String after, String before, String operation) {
    var request = request(operation);
    request.put("userInfo", Cel.user("system:serviceaccount:tranche:tranche-webhook"));
    return Cel.refusals(
        policy(Map.of(), "tranche-own-configuration"), request, json(after), json(before));
  }

  private static String configuration(String webhook) {
    return "{'metadata':{'name':'c'},'webhooks':[{'name':'w',%s}]}".formatted(webhook);
  }

  private static List<String> refusals(Map<String, ?> pod) {
    return Cel.refusals(policy(Map.of(), "tranche-guard"), CREATE, pod, null);
  }

  private static String namespaces(Map<String, Object> values, String binding) {
    return objects(values, ValidatingAdmissionPolicyBinding.class, binding)
        .getSpec()
        .getMatchResources()
        .getNamespaceSelector()
        .getMatchExpressions()
        .stream()
        .map(GuardPolicyTest::shown)
        .reduce((a, b) -> a + "; " + b)
        .orElseThrow();
  }

  private static String shown(LabelSelectorRequirement expression) {
    return "%s %s %s"
        .formatted(expression.getKey(), expression.getOperator(), expression.getValues());
  }

  private static Map<String, Object> request(String operation) {
    return new HashMap<>(
        Map.of("operation", operation, "namespace", "team", "userInfo", Cel.user("someone")));
  }

  private static Map<String, Object> values(String key, Object value) {
    return new HashMap<>(Map.of(key, value));
  }

  private static ValidatingAdmissionPolicySpec policy(Map<String, Object> values, String name) {
    return objects(values, ValidatingAdmissionPolicy.class, name).getSpec();
  }

  private static <T> T objects(Map<String, Object> values, Class<T> type, String name) {
    return documents(values.isEmpty() ? CHART : Chart.render(values))
        .filter(document -> document.contains("\nkind: " + type.getSimpleName() + "\n"))
        .filter(document -> document.contains("\n  name: " + name + "\n"))
        .map(document -> type.cast(Serialization.unmarshal(document)))
        .findFirst()
        .orElseThrow();
  }

  private static Map<String, ?> annotated(String key, String value) {
    return json("{'metadata':{'annotations':{'%s':'%s'}},'spec':{}}".formatted(key, value));
  }

  private static Map<String, ?> pod(String container, String fields) {
    String named = container.contains("'name':'x'") ? container : "'name':'x'," + container;
    return json("{'metadata':{},'spec':{'containers':[{%s}]%s}}".formatted(named, fields));
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> rules() throws IOException {
    var table =
        Serialization.unmarshal(Files.readString(Chart.FOLDER.resolve("guard.yaml")), Map.class);
    return (List<Map<String, Object>>) Objects.requireNonNull(table.get("rules"));
  }

  @SuppressWarnings("unchecked")
  private static Map<String, ?> json(String text) {
    return Serialization.unmarshal(text.replace('\'', '"'), Map.class);
  }
}
