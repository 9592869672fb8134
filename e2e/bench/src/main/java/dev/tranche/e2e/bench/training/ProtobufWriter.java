package dev.tranche.e2e.bench.training;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A protobuf message, written field by field, since we have no generated classes for the API. */
final class ProtobufWriter {
  private static final byte[] MAGIC = "k8s\0".getBytes(StandardCharsets.US_ASCII);
  private final ByteString.Output bytes = ByteString.newOutput();
  private final CodedOutputStream out = CodedOutputStream.newInstance(bytes);

  @FunctionalInterface
  private interface Write {
    void run() throws IOException;
  }

  private ProtobufWriter writing(Write write) {
    try {
      write.run();
      return this;
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory cannot fail", impossible);
    }
  }

  ProtobufWriter text(int field, String text) {
    return writing(() -> out.writeString(field, text));
  }

  ProtobufWriter message(int field, ProtobufWriter message) {
    return bytes(field, message.done());
  }

  ProtobufWriter bytes(int field, ByteString value) {
    return writing(() -> out.writeBytes(field, value));
  }

  ProtobufWriter texts(int field, Map<String, String> map) {
    map.forEach((key, value) -> message(field, new ProtobufWriter().text(1, key).text(2, value)));
    return this;
  }

  /** A map of quantities, each a message with one string. */
  ProtobufWriter quantities(int field, Map<String, String> map) {
    map.forEach(
        (key, value) ->
            message(
                field,
                new ProtobufWriter().text(1, key).message(2, new ProtobufWriter().text(1, value))));
    return this;
  }

  ByteString done() {
    writing(out::flush);
    return bytes.toByteString();
  }

  /** Returns the message in the envelope that the API server puts around an object. */
  ByteString enveloped(String kind) {
    var type = new ProtobufWriter().text(1, "v1").text(2, kind);
    return ByteString.copyFrom(MAGIC)
        .concat(new ProtobufWriter().message(1, type).message(2, this).done());
  }
}
