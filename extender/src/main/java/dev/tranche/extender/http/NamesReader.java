package dev.tranche.extender.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.tranche.extender.snapshot.NodeNames;
import java.io.IOException;
import java.util.List;

/**
 * Reads the nodes' names of a request. They are nearly all of it, and kube-scheduler writes them
 * last, without blanks and escapes: those are taken from its bytes, and a parser reads whatever is
 * written otherwise. Confined to one thread.
 */
final class NamesReader {
  private final NameTable table = new NameTable();

  /** Of the request that was read last. */
  private final NodeNames names = new NodeNames();

  /**
   * The names hold until the next request is read.
   *
   * @param parser at the beginning of the array; it is closed where nothing but the request's end
   *     comes after it
   */
  List<String> read(JsonParser parser, Body json) throws IOException {
    names.begin();
    int from = (int) parser.currentLocation().getByteOffset();
    if (from > 0 && json.bytes[from - 1] == '[' && plain(json.bytes, from, json.lengthBytes)) {
      parser.close();
      return names;
    }
    names.begin();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      names.append(parser.getValueAsString(""), NodeNames.NO_NUMBER);
      parser.skipChildren();
    }
    return names;
  }

  /** Whether names as Go writes them, and the request's end, are all there is from here. */
  private boolean plain(byte[] json, int from, int end) {
    int at = from;
    while (at < end && json[at] == '"') {
      int line = table.line(json, at + 1, end);
      if (line == NameTable.NONE) {
        return false;
      }
      names.append(table.name(line), line);
      at += table.length(line) + 2;
      if (at >= end || json[at] != ',') {
        return at < end && json[at] == ']' && ends(json, at + 1, end);
      }
      at++;
    }
    return false;
  }

  private static boolean ends(byte[] json, int from, int end) {
    if (from >= end || json[from] != '}') {
      return false;
    }
    for (int at = from + 1; at < end; at++) {
      if (json[at] != '\n' && json[at] != ' ') {
        return false;
      }
    }
    return true;
  }
}
