package dev.tranche.e2e.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** Rows of a table as an SVG: a dot for each median, a line for its range; light and dark. */
final class DotPlot {
  private static final int WIDTH = 820;
  private static final int LEFT = 300;
  private static final int RIGHT = 190;
  private static final int HEAD = 44;
  private static final int GROUP = 22;
  private static final int LINE = 20;
  private static final int GAP = 8;
  private static final String STYLE =
      """
      <style>
        text { font: 13px system-ui, sans-serif; fill: #1f2328; }
        .title { font-weight: 600; font-size: 15px; }
        .group { font-weight: 600; }
        .axis { stroke: #d1d9e0; }
        .other { fill: #6e7781; stroke: #6e7781; }
        .ours { fill: #0969da; stroke: #0969da; }
        @media (prefers-color-scheme: dark) {
          text { fill: #e6edf3; }
          .axis { stroke: #3d444d; }
          .other { fill: #9198a1; stroke: #9198a1; }
          .ours { fill: #4493f8; stroke: #4493f8; }
        }
      </style>
      """;

  private final StringBuilder body = new StringBuilder();
  private final double from;
  private final double to;
  private int y = HEAD;

  private DotPlot(double from, double to) {
    this.from = from;
    this.to = to;
  }

  static String svg(Results results) {
    Results.Plot plot = Objects.requireNonNull(results.plot());
    List<Results.Row> rows = rows(results, plot);
    double to =
        rows.stream()
            .flatMap(row -> row.cells().stream())
            .map(results::range)
            .filter(Objects::nonNull)
            .mapToDouble(Results.Range::max)
            .max()
            .orElse(plot.from() + 1);
    var drawing = new DotPlot(plot.from(), to);
    rows.forEach(row -> drawing.group(results, row));
    return drawing.document(plot.title());
  }

  private static List<Results.Row> rows(Results results, Results.Plot plot) {
    var rows = new ArrayList<Results.Row>();
    for (String what : plot.rows()) {
      rows.add(
          results.rows().stream()
              .filter(row -> row.what().equals(what))
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "the plot names the row \""
                              + what
                              + "\", which the table does not have")));
    }
    if (rows.stream().map(Results.Row::unit).distinct().count() > 1) {
      throw new IllegalArgumentException("the rows of \"" + plot.title() + "\" differ in unit");
    }
    return rows;
  }

  private void group(Results results, Results.Row row) {
    y += GROUP;
    text(12, y - 6, "group", row.what());
    for (int column = 0; column < results.columns().size(); column++) {
      Results.Range range = results.range(row.cells().get(column));
      if (range != null) {
        line(results.columns().get(column), range, row, column == 0 ? "ours" : "other");
      }
    }
    y += GAP;
  }

  private void line(String name, Results.Range range, Results.Row row, String kind) {
    int middle = y + LINE / 2;
    text(24, middle + 4, "", name);
    add(
        "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
            .formatted(LEFT, end(), middle, middle));
    add(
        "<line class=\"%s\" stroke-width=\"3\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
            .formatted(kind, x(range.min()), x(range.max()), middle, middle));
    add(
        "<circle class=\"%s\" cx=\"%s\" cy=\"%d\" r=\"5\"/>"
            .formatted(kind, x(range.median()), middle));
    text(end() + 12, middle + 4, "", range.shown(row.decimals()) + " " + row.unit());
    y += LINE;
  }

  private static int end() {
    return WIDTH - RIGHT;
  }

  private String x(double value) {
    double part = to == from ? 0 : (value - from) / (to - from);
    return String.format(Locale.ROOT, "%.1f", LEFT + part * (end() - LEFT));
  }

  private String document(String title) {
    int height = y + 24;
    text(LEFT, y + 12, "", axis(from));
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">%n"
            .formatted(WIDTH, height, WIDTH, height)
        + STYLE
        + "<text class=\"title\" x=\"12\" y=\"24\">%s</text>%n".formatted(escaped(title))
        + body
        + "</svg>\n";
  }

  private static String axis(double from) {
    return "axis from " + String.format(Locale.ROOT, "%.0f", from);
  }

  private void text(int x, int baseline, String kind, String text) {
    add(
        "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>"
            .formatted(kind, x, baseline, escaped(text)));
  }

  private void add(String element) {
    body.append(element).append('\n');
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "");
  }
}
