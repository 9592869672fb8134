package dev.tranche.extender.readapi.table;

import dev.tranche.api.Printable;
import java.util.List;
import java.util.stream.Stream;

/** Rows under a header, in columns as wide as their widest cell: as kubectl prints lists. */
final class TextTable {
  private static final String NONE = "<none>";
  static final String UNKNOWN = "<unknown>";

  private static final String GAP = "   ";

  private TextTable() {}

  static String cell(String text) {
    return text.isEmpty() ? NONE : Printable.message(text);
  }

  /**
   * Returns the table, without blanks at the end of a line. Cells are escaped, so that foreign text
   * cannot end a line or move the cursor.
   */
  static String of(List<String> header, List<List<String>> rows) {
    List<List<String>> lines =
        Stream.concat(Stream.of(header), rows.stream())
            .map(row -> row.stream().map(TextTable::cell).toList())
            .toList();
    var widths = new int[header.size()];
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], width(line.get(i)));
      }
    }
    var text = new StringBuilder();
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length - 1; i++) {
        text.append(line.get(i)).repeat(' ', widths[i] - width(line.get(i))).append(GAP);
      }
      text.append(line.getLast()).append('\n');
    }
    return text.toString();
  }

  private static int width(String cell) {
    return cell.codePointCount(0, cell.length());
  }
}
