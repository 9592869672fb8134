package dev.tranche.e2e.bench.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Stream;

/** AdmissionReviews of pods as controllers make them: containers, probes, variables, volumes. */
public final class ReviewBodies {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** In KB; most pods are small. */
  private static final List<Integer> SIZES_KB = List.of(5, 5, 5, 5, 8, 8, 8, 15, 15, 60);

  private ReviewBodies() {}

  /** Pods that ask for a fraction of a GPU. */
  public static List<byte[]> fractions() {
    return SIZES_KB.stream().map(kb -> review(kb << 10, true)).toList();
  }

  /** Pods that ask for no GPU. */
  public static List<byte[]> others() {
    return SIZES_KB.stream().map(kb -> review(kb << 10, false)).toList();
  }

  /** Grows a pod until its review has the size. */
  private static byte[] review(int bytesMin, boolean fraction) {
    return Stream.iterate(1, n -> n + 1)
        .map(n -> review(fraction, n).toString().getBytes(UTF_8))
        .filter(b -> b.length >= bytesMin)
        .findFirst()
        .orElseThrow();
  }

  private static ObjectNode review(boolean fraction, int variables) {
    ObjectNode review = JSON.createObjectNode();
    review.put("kind", "AdmissionReview").put("apiVersion", "admission.k8s.io/v1");
    ObjectNode request = review.putObject("request");
    request.put("uid", "705ab4f5-6393-11e8-b7cc-42010a800002");
    request.putObject("kind").put("group", "").put("version", "v1").put("kind", "Pod");
    request.putObject("resource").put("group", "").put("version", "v1").put("resource", "pods");
    request.put("namespace", "serving").put("operation", "CREATE");
    ObjectNode who = request.putObject("userInfo");
    who.put("username", "system:serviceaccount:kube-system:replicaset-controller");
    who.putArray("groups").add("system:serviceaccounts").add("system:authenticated");
    pod(request.putObject("object"), fraction, variables);
    request.putNull("oldObject").put("dryRun", false);
    return review;
  }

  private static void pod(ObjectNode pod, boolean fraction, int variables) {
    pod.put("kind", "Pod").put("apiVersion", "v1");
    ObjectNode metadata = pod.putObject("metadata");
    metadata.put("generateName", "llm-7d9c5b6f4-").put("namespace", "serving");
    ObjectNode labels = metadata.putObject("labels");
    for (String key : List.of("name", "instance", "version", "component", "part-of")) {
      labels.put("app.kubernetes.io/" + key, "llm-" + key);
    }
    ObjectNode annotations = metadata.putObject("annotations");
    annotations.put("prometheus.io/scrape", "true");
    if (fraction) {
      annotations.put("tranche.dev/gpu-fraction", "0.3");
    }
    ObjectNode owned = JSON.createObjectNode();
    ObjectNode spec = pod.putObject("spec");
    ArrayNode containers = spec.putArray("containers");
    // A container more for each twenty variables, as service meshes and log shippers add them.
    for (int c = 0; c <= variables / 20; c++) {
      container(containers.addObject(), c, Math.min(20, variables - 20 * c), owned);
    }
    spec.put("restartPolicy", "Always").put("serviceAccountName", "llm").put("priority", 0);
    spec.putArray("volumes").addObject().put("name", "cache").putObject("emptyDir");
    spec.putArray("tolerations")
        .addObject()
        .put("key", "nvidia.com/gpu")
        .put("operator", "Exists")
        .put("effect", "NoSchedule");
    ObjectNode managed = metadata.putArray("managedFields").addObject();
    managed.put("manager", "kube-controller-manager").put("operation", "Update");
    managed.put("apiVersion", "v1").put("fieldsType", "FieldsV1").set("fieldsV1", owned);
  }

  private static void container(ObjectNode container, int number, int variables, ObjectNode owned) {
    String name = "container-" + number;
    container.put("name", name).put("image", "registry.example.com/team/llm-serving:1.27.3");
    container.putArray("args").add("--model=/models/llama-3.1-8b-instruct").add("--port=8000");
    ObjectNode fields = owned.putObject("k:{\"name\":\"" + name + "\"}");
    ArrayNode env = container.putArray("env");
    for (int v = 0; v < variables; v++) {
      env.addObject().put("name", "SETTING_" + v).put("value", "value of setting number " + v);
      fields.putObject("k:{\"name\":\"SETTING_" + v + "\"}").putObject("f:value");
    }
    ObjectNode resources = container.putObject("resources");
    resources.putObject("limits").put("cpu", "2").put("memory", "4Gi");
    resources.putObject("requests").put("cpu", "500m").put("memory", "4Gi");
    ObjectNode probe = container.putObject("livenessProbe");
    probe.putObject("httpGet").put("path", "/healthz").put("port", 8000).put("scheme", "HTTP");
    probe.put("periodSeconds", 10).put("timeoutSeconds", 1).put("failureThreshold", 3);
    ArrayNode mounts = container.putArray("volumeMounts");
    mounts.addObject().put("name", "cache").put("mountPath", "/cache");
    mounts
        .addObject()
        .put("name", "kube-api-access-x7x2b")
        .put("mountPath", "/var/run/secrets/kubernetes.io/serviceaccount")
        .put("readOnly", true);
  }
}
