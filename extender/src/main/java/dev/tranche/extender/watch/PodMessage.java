package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import dev.tranche.extender.ledger.PodDraft;
import dev.tranche.extender.ledger.PodFields;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Reads the same fields from a Pod's protobuf message as {@link PodFields} from its JSON.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/api/core/v1/generated.proto">the
 *     field numbers</a>
 */
final class PodMessage {
  private static final int REQUIRED = 1;
  private static final int SPREAD = 33;
  private static final int CLAIMS = 39;
  private static final int POD_RESOURCES = 40;
  private static final int SCHEDULING_GROUP = 43;

  /**
   * Field numbers of the volumes that any number of pods can have on any node: hostPath, emptyDir,
   * secret, downwardAPI, configMap, projected and image.
   */
  private static final Set<Integer> VOLUMES_OF_EVERY_NODE = Set.of(1, 2, 6, 16, 19, 26, 30);

  private final PodDraft draft = new PodDraft();
  private final Map<String, String> overhead = new HashMap<>();
  private String resourceVersion = "";
  private String scheduler = "";

  /** The name of the pod's PodGroup. */
  private final String[] group = {""};

  /** Whether what containers have is read, beside what they request. */
  private boolean readsGrants;

  /**
   * @param readsGrants also of pods without devices
   */
  PodMessage(boolean readsGrants) {
    this.readsGrants = readsGrants;
  }

  PodMessage read(CodedInputStream in) throws IOException {
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> metadata(in, of));
              case 2 -> ProtobufFields.message(in, of -> spec(in, of));
              case 3 -> ProtobufFields.message(in, of -> status(in, of));
              default -> false;
            });
    return this;
  }

  WatchedPod watched(List<String> resources, boolean needsHostRequests) {
    draft.overhead(overhead);
    String key = group[0].isEmpty() ? "" : draft.key().split("/", 2)[0] + "/" + group[0];
    return WatchedPod.of(draft, resourceVersion, scheduler, key, resources, needsHostRequests);
  }

  private boolean metadata(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> draft.name(in.readString());
      case 3 -> draft.namespace(in.readString());
      case 5 -> draft.uid(in.readString());
      case 6 -> resourceVersion = in.readString();
      case 8 -> draft.createdAtMs(timeMs(in));
      case 9 -> draft.deletedAtMs(timeMs(in));
      case 11 -> ProtobufFields.entry(in, draft::label);
      case 12 -> ProtobufFields.entry(in, draft::annotation);
      default -> {
        return false;
      }
    }
    return true;
  }

  private static long timeMs(CodedInputStream in) throws IOException {
    return TimeUnit.SECONDS.toMillis(ProtobufFields.seconds(in));
  }

  private boolean spec(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> ProtobufFields.message(in, of -> of == 2 && volume(in));
      case 2 -> container(in, false);
      case 10 -> draft.node(in.readString());
      case 18 -> ProtobufFields.message(in, of -> (of == 2 || of == 3) && podAffinity(in));
      case 19 -> scheduler = in.readString();
      case 20 -> container(in, true);
      case 25 -> draft.priority(in.readInt32());
      case 32 -> ProtobufFields.quantity(in, overhead);
      case SCHEDULING_GROUP ->
          ProtobufFields.message(in, of -> of == 1 && ProtobufFields.text(in, group, 0));
      case SPREAD, CLAIMS, POD_RESOURCES -> {
        draft.constrained();
        return false;
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private boolean volume(CodedInputStream in) throws IOException {
    return ProtobufFields.message(
        in,
        number -> {
          if (!VOLUMES_OF_EVERY_NODE.contains(number)) {
            draft.constrained();
          }
          return false;
        });
  }

  /** Reads an affinity or anti-affinity to pods. */
  private boolean podAffinity(CodedInputStream in) throws IOException {
    return ProtobufFields.message(
        in,
        number -> {
          if (number == REQUIRED) {
            draft.constrained();
          }
          return false;
        });
  }

  private boolean port(CodedInputStream in) throws IOException {
    return ProtobufFields.message(
        in,
        number -> {
          if (number == 2 && in.readInt32() != 0) {
            draft.constrained();
          }
          return number == 2;
        });
  }

  private void container(CodedInputStream in, boolean init) throws IOException {
    var own = new String[] {"", ""};
    var limits = new HashMap<String, String>();
    var requests = new HashMap<String, String>();
    ProtobufFields.message(
        in,
        number -> {
          switch (number) {
            case 1 -> own[0] = in.readString();
            case 6 -> port(in);
            case 8 -> ProtobufFields.message(in, of -> resources(in, of, limits, requests));
            case 24 -> own[1] = in.readString();
            default -> {
              return false;
            }
          }
          return true;
        });
    readsGrants |= limits.keySet().stream().anyMatch(name -> name.indexOf('/') > 0);
    if (init) {
      draft.initContainer(own[0], own[1], limits, requests);
    } else {
      draft.container(own[0], limits, requests);
    }
  }

  private static boolean resources(
      CodedInputStream in, int number, Map<String, String> limits, Map<String, String> requests)
      throws IOException {
    return switch (number) {
      case 1 -> ProtobufFields.quantity(in, limits);
      case 2 -> ProtobufFields.quantity(in, requests);
      default -> false;
    };
  }

  private boolean status(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> draft.phase(in.readString());
      case 2 -> {
        // The spec comes first: a pod on a node is no longer refused.
        if (draft.node() != null) {
          return false;
        }
        condition(in);
      }
      case 7 -> draft.startedAtMs(timeMs(in));
      case 8, 10 -> {
        // The spec comes first, with what shows that the pod has devices.
        if (!readsGrants) {
          return false;
        }
        containerStatus(in);
      }
      case 11 -> draft.nominatedNode(in.readString());
      default -> {
        return false;
      }
    }
    return true;
  }

  private void condition(CodedInputStream in) throws IOException {
    var text = new String[] {"", "", "", ""};
    ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 1, 2 -> ProtobufFields.text(in, text, number - 1);
              case 5, 6 -> ProtobufFields.text(in, text, number - 3);
              default -> false;
            });
    draft.condition(text[0], text[1], text[2], text[3]);
  }

  private void containerStatus(CodedInputStream in) throws IOException {
    var name = new String[] {""};
    var allocated = new HashMap<String, String>();
    var limits = new HashMap<String, String>();
    var requests = new HashMap<String, String>();
    ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.text(in, name, 0);
              case 10 -> ProtobufFields.quantity(in, allocated);
              case 11 -> ProtobufFields.message(in, of -> resources(in, of, limits, requests));
              default -> false;
            });
    draft.granted(name[0], allocated).granted(name[0], requests);
  }
}
