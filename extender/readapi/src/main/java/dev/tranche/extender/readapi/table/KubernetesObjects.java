package dev.tranche.extender.readapi.table;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.History;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import io.vertx.core.buffer.Buffer;
import java.util.List;

/** Writes answers as objects of Kubernetes, which clients such as kubectl can read. */
public final class KubernetesObjects {
  public static final String GROUP = "read.tranche.dev";
  public static final String GROUP_VERSION = GROUP + "/v1";
  public static final String GPU_LIST = "GpuList";
  public static final String POD_LIST = "PodList";

  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private KubernetesObjects() {}

  /** Returns the answer with a kind, an apiVersion and metadata; the rows of a list likewise. */
  public static Buffer object(Record answer) {
    ObjectNode fields = (ObjectNode) Json.tree(answer);
    ObjectNode object =
        switch (answer) {
          case GpuList list -> list(GPU_LIST, "Gpu", fields, list.items());
          case PodList list -> list(POD_LIST, "Pod", fields, list.items());
          case PodDetail detail -> object("Pod", metadata(detail.pod()), fields);
          case NamespaceSummary summary ->
              object("Summary", metadata(summary.namespace(), summary.namespace()), fields);
          case History history ->
              object("History", JSON.objectNode().put("name", history.node()), fields);
          case WhatIfAnswer pod -> object("WhatIf", metadata(pod.name(), pod.namespace()), fields);
          default -> throw new IllegalArgumentException("no object is a " + answer.getClass());
        };
    return Json.buffer(object);
  }

  /** Returns the Table that {@code kubectl get} shows. */
  public static Buffer table(Record answer) {
    ObjectNode table = head("Table", "meta.k8s.io/v1");
    List<? extends Record> items =
        switch (answer) {
          case GpuList list -> {
            table.set("metadata", Json.tree(list.metadata()));
            yield list.items();
          }
          case PodList list -> {
            table.set("metadata", Json.tree(list.metadata()));
            yield list.items();
          }
          default -> throw new IllegalArgumentException("no table is a " + answer.getClass());
        };
    Tables.Grid grid = Tables.of(answer);
    for (Tables.Column<?> column : grid.columns()) {
      table
          .withArray("columnDefinitions")
          .addObject()
          .put("name", column.name())
          .put("type", "string")
          .put("format", column.name().equals("NAME") ? "name" : "")
          .put("description", "")
          .put("priority", column.wide() ? 1 : 0);
    }
    table.withArray("rows");
    for (int i = 0; i < items.size(); i++) {
      ObjectNode row = table.withArray("rows").addObject();
      grid.rows().get(i).stream().map(TextTable::cell).forEach(row.withArray("cells")::add);
      ObjectNode object = head("PartialObjectMetadata", "meta.k8s.io/v1");
      object.set("metadata", metadata(items.get(i)));
      row.set("object", object);
    }
    return Json.buffer(table);
  }

  private static ObjectNode list(
      String kind, String itemKind, ObjectNode fields, List<? extends Record> rows) {
    ObjectNode metadata = (ObjectNode) fields.remove("metadata");
    var items = JSON.arrayNode();
    for (int i = 0; i < rows.size(); i++) {
      ObjectNode row = (ObjectNode) fields.get("items").get(i);
      items.add(object(itemKind, metadata(rows.get(i)), row));
    }
    fields.set("items", items);
    return object(kind, metadata, fields);
  }

  private static ObjectNode object(String kind, ObjectNode metadata, ObjectNode fields) {
    ObjectNode object = head(kind, GROUP_VERSION);
    object.set("metadata", metadata);
    return object.setAll(fields);
  }

  private static ObjectNode head(String kind, String apiVersion) {
    return JSON.objectNode().put("kind", kind).put("apiVersion", apiVersion);
  }

  private static ObjectNode metadata(Record row) {
    return switch (row) {
      case Pod pod -> metadata(pod.name(), pod.namespace()).put("uid", pod.uid());
      case Gpu gpu -> JSON.objectNode().put("name", gpu.uuid());
      default -> throw new IllegalArgumentException("no row is a " + row.getClass());
    };
  }

  private static ObjectNode metadata(String name, String namespace) {
    return JSON.objectNode().put("name", name).put("namespace", namespace);
  }
}
