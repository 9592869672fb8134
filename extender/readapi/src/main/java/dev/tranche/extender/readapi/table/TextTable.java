package dev.tranche.extender.readapi.table;

import dev.tranche.api.Printable;
import java.util.ArrayList;
import java.util.List;

/** Rows under a header, in columns as wide as their widest cell: as kubectl prints lists. */
final class TextTable {
  private static final String NONE = "<none>";
  static final String UNKNOWN = "<unknown>";

  private static final String GAP = "   ";

  private final List<List<String>> rows = new ArrayList<>();
  private final int columns;

  TextTable(List<String> header) {
    this.columns = header.size();
    rows.add(header);
  }

  /** Adds a row. Cells are escaped, so that foreign text cannot end a line or move the cursor. */
  void add(List<String> cells) {
    if (cells.size() != columns) {
      throw new IllegalArgumentException(cells + " has not " + columns + " cells");
    }
    rows.add(cells.stream().map(TextTable::cell).toList());
  }

  static String cell(String text) {
    return text.isEmpty() ? NONE : Printable.message(text);
  }

  /** Returns the table, without blanks at the end of a line. */
  String text() {
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], width(row.get(i)));
      }
    }
    var text = new StringBuilder();
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        text.append(row.get(i));
        if (i < columns - 1) {
          text.repeat(' ', widths[i] - width(row.get(i))).append(GAP);
        }
      }
      text.append('\n');
    }
    return text.toString();
  }

  private static int width(String cell) {
    return cell.codePointCount(0, cell.length());
  }
}
