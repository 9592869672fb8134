package dev.tranche.extender.readapi.schema;

import static dev.tranche.extender.readapi.schema.Schemas.JSON;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.readapi.query.KubernetesStatus;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.Health;
import dev.tranche.extender.readapi.row.History;
import dev.tranche.extender.readapi.row.InvariantList;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.readapi.stream.StreamChange;
import dev.tranche.extender.readapi.stream.StreamSnapshot;
import dev.tranche.extender.readapi.table.KubernetesObjects;
import dev.tranche.extender.readapi.table.Output;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Writes the API's OpenAPI document and the page's types. The build runs it. */
public final class OpenApiDocument {
  private static final String NAMESPACE =
      "/apis/" + KubernetesObjects.GROUP_VERSION + "/namespaces/{namespace}/";

  private static final String PROBLEM = "application/problem+json";

  /** What every path may answer beside its content. */
  private static final List<Integer> ALWAYS = List.of(400, 401, 403, 405, 429, 500, 503);

  private static final Map<Integer, String> PROBLEMS =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry(400, "A parameter is wrong; errors names it."),
              Map.entry(401, "The token is missing or unknown. Remote port only."),
              Map.entry(
                  403,
                  "The token's user may not read this; or, on the local port, the header Host is"
                      + " another one."),
              Map.entry(404, "It is not known."),
              Map.entry(405, "Another method than GET."),
              Map.entry(410, "The continue has expired."),
              Map.entry(413, "The body is too long."),
              Map.entry(415, "The body is not JSON."),
              Map.entry(429, "Too many refused tokens, or too many questions in this second."),
              Map.entry(500, "An internal error of the extender."),
              Map.entry(503, "Too many requests at once, or nothing is known yet.")));

  private final Schemas schemas = new Schemas();
  private final ObjectNode paths = JSON.objectNode();

  private OpenApiDocument() {}

  /**
   * @param args the files to write: the document, and the types in TypeScript
   */
  public static void main(String[] args) throws IOException {
    var document = new OpenApiDocument();
    String json = document.write().toPrettyString() + "\n";
    write(Path.of(args[0]), json);
    write(Path.of(args[1]), TypeScript.of(document.schemas.byName()));
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    Files.writeString(file, text, UTF_8);
  }

  private ObjectNode write() {
    addPaths();
    addPathsOfNamespaces();
    ObjectNode document = JSON.objectNode().put("openapi", "3.1.0");
    document
        .putObject("info")
        .put("title", "Tranche read API")
        .put("version", "v1")
        .put(
            "description",
            "The extender's view of GPUs and of the pods that request them. Read-only.");
    document.putArray("security").add(bearer()).add(JSON.objectNode());
    document.set("paths", paths);
    ObjectNode components = document.putObject("components");
    components
        .putObject("securitySchemes")
        .putObject("bearer")
        .put("type", "http")
        .put("scheme", "bearer")
        .put(
            "description",
            "A token of the cluster whose user may get /tranche/api/v1/*, or the pods of the"
                + " namespace. None on the local port.");
    ObjectNode responses = components.putObject("responses");
    PROBLEMS.forEach((status, meaning) -> responses.set(status.toString(), problem(meaning)));
    schemas.reference(StreamSnapshot.class);
    schemas.reference(StreamChange.class);
    components.putObject("schemas").setAll(schemas.byName());
    return document;
  }

  private static ObjectNode bearer() {
    ObjectNode bearer = JSON.objectNode();
    bearer.putArray("bearer");
    return bearer;
  }

  private ObjectNode problem(String meaning) {
    ObjectNode response = JSON.objectNode().put("description", meaning);
    ObjectNode content = response.putObject("content");
    content.putObject(PROBLEM).set("schema", schemas.reference(Problem.ProblemDocument.class));
    content.putObject("application/json").set("schema", schemas.reference(KubernetesStatus.class));
    return response;
  }

  private void addPaths() {
    get(
            "summary",
            "getSummary",
            "Total, healthy, granted and used GPUs, and the waiting pods. limit and continue page"
                + " its nodes.")
        .page()
        .text()
        .answers(Summary.class);
    get("gpus", "listGpus", "GPUs by node and index.")
        .query("node", "On this node.", string())
        .query("model", "Of this model, as nvidia-smi names it.", string())
        .query("uuid", "With this uuid.", string())
        .query("health", "In this state.", schemas.reference(Health.class))
        .query("namespace", "With a pod of this namespace.", string())
        .page()
        .text()
        .answers(GpuList.class);
    get("pods", "listPods", "Pods that request GPUs, by namespace and name.")
        .query("namespace", "Of this namespace.", string())
        .query("node", "On this node.", string())
        .query("state", "In this state.", schemas.reference(PodState.class))
        .page()
        .text()
        .answers(PodList.class);
    get(
            "pods/{namespace}/{name}",
            "getPod",
            "Why a pod is where it is, or why it waits, node by node.")
        .required("namespace", "path", "Its namespace.")
        .required("name", "path", "Its name.")
        .text()
        .may(404)
        .answers(PodDetail.class);
    addOthers();
  }

  private void addOthers() {
    get(
            "history",
            "getHistory",
            "Load, memory and grants of a GPU, or of all GPUs of a node, over the last 6 hours, as"
                + " columns.")
        .required("node", "query", "On this node.")
        .query("uuid", "Only of this GPU.", string())
        .query(
            "since",
            "Start: a duration before now, such as 30m or 1h30m, or an RFC 3339 time. Default:"
                + " everything.",
            string())
        .may(404)
        .answers(History.class);
    get(
            "stream",
            "getStream",
            "Server-sent events: one event snapshot, then once a second an event change, if"
                + " anything changed. While nothing changes, a comment every 5 s.")
        .answers(
            "OK. The data of an event snapshot is a StreamSnapshot, of an event change a"
                + " StreamChange.",
            "text/event-stream",
            string());
    get(
            "invariants",
            "listInvariants",
            "What does not hold in the cluster, of what must hold: judged every 15 s by the"
                + " kubelets' lists, the pods' annotations and the extender's holds.")
        .text()
        .answers(InvariantList.class);
    get("openapi.json", "getOpenApi", "This document.")
        .answers("OK", "application/json", JSON.objectNode().put("type", "object"));
    new Operation(
            "/api/v1/what-if",
            "post",
            "whatIf",
            "Where a pod would go now, and why, or why it would wait. Nothing is held.")
        .query(
            "count",
            "Number of such pods, placed one after the other: how many fit?",
            integer(WhatIf.COUNT_MAX, 1))
        .text()
        .body("A Pod as the API server would store it: kubectl create --dry-run=server -o json.")
        .may(413)
        .may(415)
        .answers(WhatIfAnswer.class);
  }

  /** The same, limited to one namespace. */
  private void addPathsOfNamespaces() {
    ofNamespace("summary", "getNamespaceSummary", "What the pods of the namespace hold.")
        .text()
        .answersObject(NamespaceSummary.class);
    ofNamespace("gpus", "listNamespaceGpus", "GPUs that pods of the namespace hold.")
        .query("node", "On this node.", string())
        .query("model", "Of this model, as nvidia-smi names it.", string())
        .query("uuid", "With this uuid.", string())
        .query("health", "In this state.", schemas.reference(Health.class))
        .page()
        .text()
        .answersObject(GpuList.class);
    ofNamespace("pods", "listNamespacePods", "Pods of the namespace that request GPUs.")
        .query("node", "On this node.", string())
        .query("state", "In this state.", schemas.reference(PodState.class))
        .page()
        .text()
        .answersObject(PodList.class);
    ofNamespace("pods/{name}", "getNamespacePod", "Why a pod is where it is, or why it waits.")
        .required("name", "path", "Its name.")
        .may(404)
        .text()
        .answersObject(PodDetail.class);
    ofNamespace("history", "getNamespaceHistory", "The history of such GPUs of a node.")
        .required("node", "query", "On this node.")
        .query("uuid", "Only of this GPU.", string())
        .query("since", "Start, as for /api/v1/history.", string())
        .may(404)
        .answersObject(History.class);
    new Operation(
            NAMESPACE + "what-if",
            "post",
            "namespaceWhatIf",
            "Where a pod of the namespace would go now, or why it would wait. Nothing is held.")
        .required("namespace", "path", "The namespace, also of the Pod.")
        .query("count", "Number of such pods.", integer(WhatIf.COUNT_MAX, 1))
        .body("A Pod as the API server would store it: kubectl create --dry-run=server -o json.")
        .may(413)
        .may(415)
        .text()
        .answersObject(WhatIfAnswer.class);
  }

  private Operation ofNamespace(String path, String id, String summary) {
    return new Operation(NAMESPACE + path, "get", id, summary)
        .required("namespace", "path", "The namespace.");
  }

  private Operation get(String path, String id, String summary) {
    return new Operation("/api/v1/" + path, "get", id, summary);
  }

  private static ObjectNode string() {
    return JSON.objectNode().put("type", "string");
  }

  private static ObjectNode integer(int maximum, int byDefault) {
    return JSON.objectNode()
        .put("type", "integer")
        .put("minimum", 1)
        .put("maximum", maximum)
        .put("default", byDefault);
  }

  /** One method of a path. */
  private final class Operation {
    private final ObjectNode operation;
    private final ObjectNode problems = JSON.objectNode();
    private boolean isText;

    Operation(String path, String method, String id, String summary) {
      operation = paths.putObject(path).putObject(method);
      operation.put("operationId", id).put("summary", summary);
      ALWAYS.forEach(this::may);
    }

    private ObjectNode parameter(String name, String in, String meaning, ObjectNode schema) {
      ObjectNode parameter = operation.withArray("parameters").addObject();
      parameter.put("name", name).put("in", in).put("description", meaning).set("schema", schema);
      return parameter;
    }

    Operation query(String name, String meaning, ObjectNode schema) {
      parameter(name, "query", meaning, schema);
      return this;
    }

    Operation required(String name, String in, String meaning) {
      parameter(name, in, meaning, string()).put("required", true);
      return this;
    }

    Operation page() {
      return query(
              "limit", "Rows of a page.", integer(ListQuery.LIMIT_MAX, ListQuery.LIMIT_DEFAULT))
          .query(
              "continue",
              "metadata.continue of the page before, with the same filters. It expires after 5"
                  + " minutes.",
              string())
          .may(410);
    }

    Operation text() {
      ObjectNode schema = string();
      Output.NAMES.forEach(schema.withArray("enum")::add);
      isText = true;
      return query(
          "output",
          "As text for kubectl, whose errors are then Status objects of Kubernetes.",
          schema);
    }

    Operation body(String meaning) {
      ObjectNode body = operation.putObject("requestBody");
      body.put("required", true).put("description", meaning);
      body.putObject("content")
          .putObject("application/json")
          .putObject("schema")
          .put("type", "object");
      return this;
    }

    Operation may(int status) {
      problems.putObject(Integer.toString(status)).put("$ref", "#/components/responses/" + status);
      return this;
    }

    /** The record's fields, in an object of Kubernetes. */
    void answersObject(Class<?> record) {
      schemas.reference(record);
      ObjectNode object = JSON.objectNode().put("type", "object");
      object.put(
          "description",
          "A %s with kind, apiVersion and metadata, as its items; text has neither."
              .formatted(record.getSimpleName()));
      answers("OK", "application/json", object);
    }

    void answers(Class<?> record) {
      answers("OK", "application/json", schemas.reference(record));
    }

    void answers(String meaning, String mediaType, ObjectNode schema) {
      ObjectNode responses = operation.putObject("responses");
      ObjectNode content =
          responses.putObject("200").put("description", meaning).putObject("content");
      content.putObject(mediaType).set("schema", schema);
      if (isText) {
        content.putObject("application/yaml").set("schema", string());
        content.putObject("text/plain").set("schema", string());
      }
      responses.setAll(problems);
    }
  }
}
