package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.ListMeta;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads what the API server sends of one kind, in protobuf or JSON.
 *
 * @see <a href="https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding">the
 *     envelope of protobuf messages</a>
 */
final class ObjectDecoder<M extends HasMetadata, T extends WatchedObject> {
  private static final String PROTOBUF = "application/vnd.kubernetes.protobuf";

  /** The prefix of the {@code Unknown} message that wraps each object. */
  private static final byte[] MAGIC = {'k', '8', 's', 0};

  private static final int UNKNOWN_RAW = 2;

  /** Size of the read buffer. Few objects are larger, and those are read too. */
  private static final int OBJECT_BYTES = 1 << 16;

  /** The largest object that is read; the API server stores 1.5 MiB unless it is told otherwise. */
  static final int OBJECT_BYTES_MAX = 4 << 20;

  /** As much of a larger one as its name and namespace take. */
  private static final int KEY_BYTES = 1 << 10;

  /** The largest page that is read. What is kept of an object may be nearly all of it. */
  static final int PAGE_BYTES_MAX = 64 << 20;

  /** The same in JSON, whose objects take many times the text. */
  static final int JSON_BYTES_MAX = 8 << 20;

  private final ResourceKind<M, T> kind;
  private final KubernetesSerialization json;

  ObjectDecoder(ResourceKind<M, T> kind, KubernetesSerialization json) {
    this.kind = kind;
    this.json = json;
  }

  /** Returns the content types that we can read, the preferred first. */
  String accept() {
    return kind.ofMessage() == null ? "application/json" : PROTOBUF + ",application/json";
  }

  /**
   * Reads one page of a list, object by object, so that the uncompressed page need not be in
   * memory.
   *
   * @param contentType null: JSON
   * @throws BoundedBody.TooLarge if a page of fewer objects should be read
   */
  WatchEvent.Page<T> page(InputStream body, @Nullable String contentType) throws IOException {
    boolean isJson = contentType == null || !contentType.startsWith(PROTOBUF);
    int bytesMax = isJson ? JSON_BYTES_MAX : PAGE_BYTES_MAX;
    var bounded = new BoundedBody(body, bytesMax);
    try {
      return page(bounded, isJson);
    } catch (IOException | RuntimeException unreadable) {
      if (bounded.exceeded()) {
        throw new BoundedBody.TooLarge(bytesMax);
      }
      throw unreadable;
    }
  }

  private WatchEvent.Page<T> page(BoundedBody body, boolean isJson) throws IOException {
    if (isJson) {
      KubernetesResourceList<M> list = json.unmarshal(body, kind.listType());
      ListMeta meta = list.getMetadata();
      String next = meta.getContinue() == null ? "" : meta.getContinue();
      return page(
          list.getItems().stream().map(object -> decode("", object)).toList(),
          String.valueOf(meta.getResourceVersion()),
          next);
    }
    if (!Arrays.equals(body.readNBytes(MAGIC.length), MAGIC)) {
      throw new IOException(
          "not a protobuf message of Kubernetes, although its content type says so");
    }
    var in = CodedInputStream.newInstance(body, OBJECT_BYTES);
    var items = new ArrayList<WatchEvent<T>>();
    var meta = new String[] {"", ""};
    unwrap(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> listMeta(in, of, meta));
              case 2 -> items.add(decode("", in));
              default -> false;
            });
    if (meta[0].isEmpty()) {
      throw new IOException("a list without a resourceVersion");
    }
    return page(items, meta[0], meta[1]);
  }

  private static <T extends WatchedObject> WatchEvent.Page<T> page(
      List<WatchEvent<T>> objects, String version, String next) {
    var items = new ArrayList<T>(objects.size());
    var undecodable = new ArrayList<WatchEvent.Undecodable<T>>();
    for (WatchEvent<T> object : objects) {
      switch (object) {
        case WatchEvent.Seen<T>(T item) -> items.add(item);
        case WatchEvent.Undecodable<T> other -> undecodable.add(other);
        default -> throw new IllegalStateException("no list returns " + object);
      }
    }
    return new WatchEvent.Page<>(items, undecodable, version, next);
  }

  private static boolean listMeta(CodedInputStream in, int number, String[] into)
      throws IOException {
    boolean wanted = number == 2 || number == 3;
    if (wanted) {
      into[number - 2] = in.readString();
    }
    return wanted;
  }

  private static void unwrap(CodedInputStream in, ProtobufFields.Field field) throws IOException {
    ProtobufFields.fields(in, number -> number == UNKNOWN_RAW && ProtobufFields.message(in, field));
  }

  /** Reads an embedded object. If it can't be read, the next one still starts where it ends. */
  private WatchEvent<T> decode(String type, CodedInputStream in) throws IOException {
    int size = in.readRawVarint32();
    if (size < 0 || size > OBJECT_BYTES_MAX) {
      return tooLarge(type, in, size);
    }
    ByteBuffer message = ByteBuffer.wrap(in.readRawBytes(size));
    try {
      ResourceKind.Reader<T> reader = Objects.requireNonNull(kind.ofMessage());
      return change(type, reader.read(CodedInputStream.newInstance(message.duplicate())));
    } catch (IOException | RuntimeException unreadable) {
      return new WatchEvent.Undecodable<>(
          key(message), unreadable.toString(), type.equals("DELETED"));
    }
  }

  private WatchEvent<T> tooLarge(String type, CodedInputStream in, int size) throws IOException {
    if (size < 0) {
      throw new IOException("an object of a negative size");
    }
    String key = key(ByteBuffer.wrap(in.readRawBytes(KEY_BYTES)));
    in.skipRawBytes(size - KEY_BYTES);
    String why =
        "it has %d bytes, and %d are read at most; shorten what fills it, such as an annotation"
            .formatted(size, OBJECT_BYTES_MAX);
    return new WatchEvent.Undecodable<>(key, why, type.equals("DELETED"));
  }

  private WatchEvent<T> decode(String type, M object) {
    try {
      return change(type, kind.ofModel().apply(object));
    } catch (RuntimeException unreadable) {
      var meta = object.getMetadata();
      String key = key(meta.getNamespace(), meta.getName());
      return new WatchEvent.Undecodable<>(key, unreadable.toString(), type.equals("DELETED"));
    }
  }

  /** Reads as much of the key as possible. Every object's first field is its metadata. */
  private static String key(ByteBuffer message) {
    var text = new String[] {"", ""};
    try {
      var in = CodedInputStream.newInstance(message);
      ProtobufFields.fields(
          in, number -> number == 1 && ProtobufFields.message(in, of -> name(in, of, text)));
    } catch (IOException | RuntimeException unreadable) {
      // The fields before the error have been read.
    }
    return key(text[0], text[1]);
  }

  private static boolean name(CodedInputStream in, int number, String[] into) throws IOException {
    return switch (number) {
      case 1 -> ProtobufFields.text(in, into, 1);
      case 3 -> ProtobufFields.text(in, into, 0);
      default -> false;
    };
  }

  private static String key(@Nullable String namespace, @Nullable String name) {
    String named = name == null ? "" : name;
    return namespace == null || namespace.isEmpty() ? named : namespace + "/" + named;
  }

  /** Reads one event of a watch. */
  WatchEvent<T> change(String text) {
    var event = json.unmarshal(text, io.fabric8.kubernetes.api.model.WatchEvent.class);
    if (event.getObject() instanceof Status status) {
      int code = status.getCode() == null ? 0 : status.getCode();
      return new WatchEvent.Ended<>(code, String.valueOf(status.getMessage()));
    }
    M object = kind.type().cast(event.getObject());
    return event.getType().equals("BOOKMARK")
        ? new WatchEvent.Bookmark<>(object.getMetadata().getResourceVersion())
        : decode(event.getType(), object);
  }

  /** Reads one event of a watch. */
  WatchEvent<T> change(ByteBuffer message) throws IOException {
    var in = CodedInputStream.newInstance(message);
    var type = new StringBuilder();
    var changes = new ArrayList<WatchEvent<T>>(1);
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> {
                type.append(in.readString());
                yield true;
              }
              case 2 ->
                  ProtobufFields.message(
                      in, raw -> raw == 1 && changes.add(embedded(in, type.toString())));
              default -> false;
            });
    if (changes.isEmpty()) {
      throw new IOException("a watch event \"" + type + "\" without an object");
    }
    return changes.getFirst();
  }

  private WatchEvent<T> embedded(CodedInputStream in, String type) throws IOException {
    int limit = in.pushLimit(in.readRawVarint32());
    in.skipRawBytes(MAGIC.length);
    var changes = new ArrayList<WatchEvent<T>>(1);
    ProtobufFields.fields(
        in,
        number ->
            number == UNKNOWN_RAW
                && changes.add(type.equals("ERROR") ? status(in) : decode(type, in)));
    in.popLimit(limit);
    if (changes.isEmpty()) {
      throw new IOException("a watch event \"" + type + "\" with an empty object");
    }
    return changes.getFirst();
  }

  private WatchEvent<T> status(CodedInputStream in) throws IOException {
    var code = new int[1];
    var message = new StringBuilder();
    ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 3 -> {
                message.append(in.readString());
                yield true;
              }
              case 6 -> {
                code[0] = in.readInt32();
                yield true;
              }
              default -> false;
            });
    return new WatchEvent.Ended<>(code[0], message.toString());
  }

  private WatchEvent<T> change(String type, T item) {
    return switch (type) {
      case "DELETED" -> new WatchEvent.Gone<>(item);
      case "BOOKMARK" -> new WatchEvent.Bookmark<>(item.resourceVersion());
      default -> new WatchEvent.Seen<>(item);
    };
  }
}
