package dev.tranche.e2e.verify;

import dev.tranche.process.Sha256;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The checks so far. Prints each check when it is added, without what identifies this machine. */
public final class Report {
  private static final String TITLE = "Tranche verify-gpu";
  private static final int FORMAT = 1;

  private final PrintStream out;
  private final Anonymizer anonymizer;
  private final Map<String, String> facts = new TreeMap<>();
  private final List<Check> checks = new ArrayList<>();
  private String area = "";

  public Report(PrintStream out, Anonymizer anonymizer) {
    this.out = out;
    this.anonymizer = anonymizer;
    out.println(TITLE);
  }

  /** Adds a fact that is neither right nor wrong, such as the driver's version. */
  public void fact(String name, String value) {
    facts.put(name, anonymizer.anonymize(value));
    out.println("  " + name + ": " + anonymizer.anonymize(value));
  }

  public void add(String of, String name, CheckStatus status, String sentence) {
    add(Check.of(of, name, status, sentence));
  }

  public void add(Check raw) {
    Check check =
        new Check(
            raw.area(),
            raw.name(),
            raw.status(),
            anonymizer.anonymize(raw.sentence()),
            raw.details().stream().map(anonymizer::anonymize).toList());
    checks.add(check);
    if (!check.area().equals(area)) {
      area = check.area();
      out.println("\n" + area);
    }
    out.printf("  %-13s  %s: %s%n", check.status().text(), check.name(), check.sentence());
    check.details().forEach(detail -> out.println("                   " + detail));
  }

  public boolean failed() {
    return checks.stream().anyMatch(check -> check.status() == CheckStatus.FAILED);
  }

  /** Returns the number of checks of each status. */
  String summary() {
    Map<CheckStatus, Long> counts =
        checks.stream()
            .collect(Collectors.groupingBy(Check::status, TreeMap::new, Collectors.counting()));
    return counts.entrySet().stream()
        .map(e -> e.getValue() + " " + e.getKey().text())
        .collect(Collectors.joining(", "));
  }

  /** Returns the SHA-256 of a report without its digest, which shows whether it was edited. */
  static String digest(JsonObject report) {
    JsonObject rest = report.copy();
    rest.remove("digest");
    return Sha256.hex(rest.encode());
  }

  public void write(Path file) throws IOException {
    JsonArray listed = new JsonArray();
    for (Check check : checks) {
      listed.add(
          new JsonObject()
              .put("area", check.area())
              .put("name", check.name())
              .put("answer", check.status().text())
              .put("sentence", check.sentence())
              .put("details", new JsonArray(check.details())));
    }
    JsonObject json =
        new JsonObject().put("title", TITLE).put("format", FORMAT).put("summary", summary());
    JsonObject known = new JsonObject();
    facts.forEach(known::put);
    json.put("facts", known).put("checks", listed);
    json.put("digest", digest(json));
    Path parent = file.toAbsolutePath().getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
    Files.writeString(file, json.encodePrettily() + "\n");
    out.println("\n" + summary() + "\nreport: " + file);
  }
}
