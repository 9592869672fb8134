package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import java.io.EOFException;
import java.io.IOException;
import java.util.Map;

/**
 * Reads protobuf messages without generated classes, and skips unwanted fields. Go writes strings
 * without checking that they are UTF-8. Invalid bytes are replaced, since one pod's annotation must
 * not stop the reading of all pods.
 */
final class ProtobufFields {
  private ProtobufFields() {}

  /** Takes the value of one field, whole. */
  @FunctionalInterface
  interface Field {
    /**
     * @return false: it is not wanted, and nothing was read of it
     */
    boolean read(int number) throws IOException;
  }

  /** Reads the fields up to the end of the stream or to the current limit. */
  static void fields(CodedInputStream in, Field field) throws IOException {
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (!field.read(WireFormat.getTagFieldNumber(tag))) {
        in.skipField(tag);
      }
    }
  }

  /** Reads an embedded message. */
  static boolean message(CodedInputStream in, Field field) throws IOException {
    int limit = in.pushLimit(in.readRawVarint32());
    fields(in, field);
    if (in.getBytesUntilLimit() > 0) {
      // Otherwise a stream that ends between two objects would look like a shorter list.
      throw new EOFException(in.getBytesUntilLimit() + " bytes of a message are missing");
    }
    in.popLimit(limit);
    return true;
  }

  @FunctionalInterface
  interface Pair {
    void read(String key, String value) throws IOException;
  }

  /** One entry of a map of strings. */
  static boolean entry(CodedInputStream in, Pair pair) throws IOException {
    var text = new String[] {"", ""};
    message(in, number -> number <= 2 && text(in, text, number - 1));
    pair.read(text[0], text[1]);
    return true;
  }

  /** One entry of a map of quantities, each of which is a message with one string. */
  static boolean quantity(CodedInputStream in, Map<String, String> into) throws IOException {
    var text = new String[] {"", ""};
    message(
        in,
        number ->
            switch (number) {
              case 1 -> text(in, text, 0);
              case 2 -> message(in, of -> of == 1 && text(in, text, 1));
              default -> false;
            });
    into.put(text[0], text[1]);
    return true;
  }

  static boolean text(CodedInputStream in, String[] into, int index) throws IOException {
    into[index] = in.readString();
    return true;
  }

  /** Reads a {@code Time}, in seconds since 1970. */
  static long seconds(CodedInputStream in) throws IOException {
    var seconds = new long[1];
    message(
        in,
        number -> {
          if (number == 1) {
            seconds[0] = in.readInt64();
          }
          return number == 1;
        });
    return seconds[0];
  }
}
