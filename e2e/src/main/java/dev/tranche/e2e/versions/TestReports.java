package dev.tranche.e2e.versions;

import dev.tranche.e2e.versions.TestCase.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** The XML reports of Maven's test runs. */
final class TestReports {
  private TestReports() {}

  /** Returns all tests of a folder's reports; none if there is no such folder. */
  static List<TestCase> read(Path folder) throws IOException {
    var tests = new ArrayList<TestCase>();
    if (!Files.isDirectory(folder)) {
      return tests;
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.sorted().toList()) {
        if (file.getFileName().toString().matches("TEST-.*\\.xml")) {
          elements(root(file).getElementsByTagName("testcase"))
              .map(TestReports::test)
              .forEach(tests::add);
        }
      }
    }
    return tests;
  }

  private static Element root(Path file) throws IOException {
    try {
      return DocumentBuilderFactory.newDefaultInstance()
          .newDocumentBuilder()
          .parse(file.toFile())
          .getDocumentElement();
    } catch (ParserConfigurationException | SAXException e) {
      throw new IOException(file + " is no test report", e);
    }
  }

  private static TestCase test(Element testCase) {
    String className = testCase.getAttribute("classname");
    String name = testCase.getAttribute("name");
    String outer = className.replaceFirst("\\$.*", "");
    return new TestCase(
        outer.substring(outer.lastIndexOf('.') + 1),
        name.equals(className) ? "" : name.replaceFirst("\\W.*", ""),
        outcome(testCase));
  }

  private static Outcome outcome(Element testCase) {
    List<String> children = elements(testCase.getChildNodes()).map(Element::getTagName).toList();
    if (children.contains("failure") || children.contains("error")) {
      return Outcome.FAILED;
    }
    if (children.contains("skipped")) {
      return Outcome.SKIPPED;
    }
    return children.contains("flakyFailure") || children.contains("flakyError")
        ? Outcome.PASSED_IN_SECOND_TRY
        : Outcome.PASSED;
  }

  private static Stream<Element> elements(NodeList nodes) {
    return IntStream.range(0, nodes.getLength())
        .mapToObj(nodes::item)
        .filter(Element.class::isInstance)
        .map(Element.class::cast);
  }
}
