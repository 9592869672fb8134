package dev.tranche.extender.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.tranche.extender.http.ExtenderV1.ExtenderArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderBindingArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderPreemptionArgs;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.PodDraft;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.verb.Preempt;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Reads requests token by token, and of the Pod only what we decide on. */
public final class ExtenderReader {
  private static final JsonFactory FACTORY = new JsonFactory();

  private final List<String> resources;

  public ExtenderReader(List<String> resources) {
    this.resources = List.copyOf(resources);
  }

  /** What to do with the value of a field; it must be read whole, or skipped. */
  @FunctionalInterface
  private interface Field {
    void read(String name) throws IOException;
  }

  public ExtenderArgs args(Body json) throws MalformedException {
    try (JsonParser parser = parser(json)) {
      var pod = new PodDraft();
      var named = new ArrayList<@Nullable List<String>>(1);
      var choosy = new AtomicBoolean();
      object(
          parser,
          field -> {
            switch (field) {
              case "Pod" -> pod(parser, pod, choosy);
              case "NodeNames" -> named.add(names(parser));
              default -> parser.skipChildren();
            }
          });
      return new ExtenderArgs(
          identified(pod), named.isEmpty() ? null : named.getLast(), pod.host(), choosy.get());
    } catch (IOException e) {
      throw new MalformedException("not the extender's JSON: " + e.getMessage());
    }
  }

  private static JsonParser parser(Body json) throws IOException {
    return FACTORY.createParser(json.bytes, 0, json.lengthBytes);
  }

  public ExtenderPreemptionArgs preemption(Body json) throws MalformedException {
    try (JsonParser parser = parser(json)) {
      var pod = new PodDraft();
      var byNode = new ArrayList<@Nullable Map<String, Preempt.OfNode>>(1);
      object(
          parser,
          field -> {
            switch (field) {
              case "Pod" -> pod(parser, pod, new AtomicBoolean());
              case "NodeNameToMetaVictims" -> byNode.add(victimsByNode(parser));
              default -> parser.skipChildren();
            }
          });
      return new ExtenderPreemptionArgs(
          identified(pod), byNode.isEmpty() ? null : byNode.getLast());
    } catch (IOException e) {
      throw new MalformedException("not the extender's JSON: " + e.getMessage());
    }
  }

  /** Holds are kept by uid: those of pods without one would replace each other. */
  private Optional<PodFacts> identified(PodDraft pod) throws MalformedException {
    Optional<PodFacts> facts = pod.facts(resources);
    if (facts.isPresent() && facts.get().uid().isEmpty()) {
      throw new MalformedException("pod " + facts.get().key() + " has no metadata.uid");
    }
    return facts;
  }

  private static @Nullable Map<String, Preempt.OfNode> victimsByNode(JsonParser parser)
      throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      parser.skipChildren();
      return null;
    }
    var byNode = new LinkedHashMap<String, Preempt.OfNode>();
    object(parser, node -> byNode.put(node, victims(parser)));
    return byNode;
  }

  private static Preempt.OfNode victims(JsonParser parser) throws IOException {
    var uids = new ArrayList<String>();
    var violations = new AtomicLong();
    object(
        parser,
        field -> {
          switch (field) {
            case "Pods" -> array(parser, () -> object(parser, key -> uid(parser, key, uids)));
            case "NumPDBViolations" -> violations.set(parser.getValueAsLong());
            default -> parser.skipChildren();
          }
        });
    return new Preempt.OfNode(uids, violations.get());
  }

  private static void uid(JsonParser parser, String key, List<String> uids) throws IOException {
    if (key.equals("UID")) {
      uids.add(text(parser));
    } else {
      parser.skipChildren();
    }
  }

  public ExtenderBindingArgs binding(Body json) throws MalformedException {
    var values = new HashMap<String, String>();
    try (JsonParser parser = parser(json)) {
      texts(parser, values);
    } catch (IOException e) {
      throw new MalformedException("not the extender's JSON: " + e.getMessage());
    }
    return new ExtenderBindingArgs(
        required(values, "PodName"),
        required(values, "PodNamespace"),
        required(values, "PodUID"),
        required(values, "Node"));
  }

  private static String required(Map<String, String> values, String key) throws MalformedException {
    String value = values.get(key);
    if (value == null || value.isEmpty()) {
      throw new MalformedException("a binding without " + key);
    }
    return value;
  }

  private static void pod(JsonParser parser, PodDraft pod, AtomicBoolean choosy)
      throws IOException {
    object(
        parser,
        field -> {
          switch (field) {
            case "metadata" -> metadata(parser, pod);
            case "spec" -> spec(parser, pod, choosy);
            case "status" -> object(parser, status -> status(parser, pod, status));
            default -> parser.skipChildren();
          }
        });
  }

  private static void status(JsonParser parser, PodDraft pod, String field) throws IOException {
    switch (field) {
      case "phase" -> pod.phase(text(parser));
      case "startTime" -> pod.startedAt(text(parser));
      case "nominatedNodeName" -> pod.nominatedNode(text(parser));
      default -> parser.skipChildren();
    }
  }

  private static void metadata(JsonParser parser, PodDraft pod) throws IOException {
    object(
        parser,
        field -> {
          switch (field) {
            case "name" -> pod.name(text(parser));
            case "namespace" -> pod.namespace(text(parser));
            case "uid" -> pod.uid(text(parser));
            case "creationTimestamp" -> pod.createdAt(text(parser));
            case "deletionTimestamp" -> pod.deletedAt(text(parser));
            case "labels" -> object(parser, key -> pod.label(key, text(parser)));
            case "annotations" -> object(parser, key -> pod.annotation(key, text(parser)));
            default -> parser.skipChildren();
          }
        });
  }

  private static void spec(JsonParser parser, PodDraft pod, AtomicBoolean choosy)
      throws IOException {
    object(
        parser,
        field -> {
          switch (field) {
            case "nodeName" -> pod.node(text(parser));
            case "priority" -> pod.priority(parser.getValueAsInt());
            case "containers" -> array(parser, () -> container(parser, pod, false));
            case "overhead" -> {
              var overhead = new HashMap<String, String>();
              texts(parser, overhead);
              pod.overhead(overhead);
            }
            case "initContainers" -> array(parser, () -> container(parser, pod, true));
            case "affinity" -> object(parser, kind -> affinity(parser, choosy));
            case "topologySpreadConstraints" -> array(parser, () -> chooses(parser, choosy));
            default -> parser.skipChildren();
          }
        });
  }

  private static void affinity(JsonParser parser, AtomicBoolean choosy) throws IOException {
    object(
        parser,
        rule -> {
          if (rule.equals("preferredDuringSchedulingIgnoredDuringExecution")) {
            array(parser, () -> chooses(parser, choosy));
          } else {
            parser.skipChildren();
          }
        });
  }

  private static void chooses(JsonParser parser, AtomicBoolean choosy) throws IOException {
    choosy.set(true);
    parser.skipChildren();
  }

  private static void container(JsonParser parser, PodDraft pod, boolean init) throws IOException {
    var own = new HashMap<String, String>();
    var limits = new HashMap<String, String>();
    var requests = new HashMap<String, String>();
    object(
        parser,
        field -> {
          switch (field) {
            case "name", "restartPolicy" -> own.put(field, text(parser));
            case "resources" -> object(parser, kind -> resources(parser, kind, limits, requests));
            default -> parser.skipChildren();
          }
        });
    String name = own.getOrDefault("name", "");
    if (init) {
      pod.initContainer(name, own.get("restartPolicy"), limits, requests);
    } else {
      pod.container(name, limits, requests);
    }
  }

  /** Of an extended resource, requests equal limits. */
  private static void resources(
      JsonParser parser, String kind, Map<String, String> limits, Map<String, String> requests)
      throws IOException {
    switch (kind) {
      case "limits" -> texts(parser, limits);
      case "requests" -> texts(parser, requests);
      default -> parser.skipChildren();
    }
  }

  private static void texts(JsonParser parser, Map<String, String> into) throws IOException {
    object(
        parser,
        field -> {
          if (parser.currentToken().isScalarValue()) {
            into.put(field, text(parser));
          } else {
            parser.skipChildren();
          }
        });
  }

  private static @Nullable List<String> names(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      parser.skipChildren();
      return null;
    }
    var names = new ArrayList<String>();
    array(parser, () -> names.add(text(parser)));
    return names;
  }

  private static String text(JsonParser parser) throws IOException {
    String text = parser.getValueAsString("");
    parser.skipChildren();
    return text;
  }

  @FunctionalInterface
  private interface Element {
    void read() throws IOException;
  }

  private static void array(JsonParser parser, Element element) throws IOException {
    if (parser.currentToken() == JsonToken.START_ARRAY) {
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        element.read();
      }
    }
  }

  /** Go writes null for what is empty: such an object has no fields. */
  private static void object(JsonParser parser, Field field) throws IOException {
    if (parser.currentToken() == null) {
      parser.nextToken();
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      parser.skipChildren();
      return;
    }
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      parser.nextToken();
      field.read(name);
    }
  }
}
