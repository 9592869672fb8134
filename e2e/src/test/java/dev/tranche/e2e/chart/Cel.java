package dev.tranche.e2e.chart;

import dev.cel.common.CelValidationException;
import dev.cel.common.types.SimpleType;
import dev.cel.compiler.CelCompiler;
import dev.cel.compiler.CelCompilerFactory;
import dev.cel.parser.CelStandardMacro;
import dev.cel.runtime.CelEvaluationException;
import dev.cel.runtime.CelRuntime;
import dev.cel.runtime.CelRuntimeFactory;
import java.util.HashMap;
import java.util.Map;

/** Evaluates expressions of admission rules, with objects as the API server hands them over. */
final class Cel {
  private static final CelCompiler COMPILER =
      CelCompilerFactory.standardCelCompilerBuilder()
          .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
          .addVar("object", SimpleType.DYN)
          .addVar("oldObject", SimpleType.DYN)
          .addVar("request", SimpleType.DYN)
          .addVar("namespaceObject", SimpleType.DYN)
          .build();
  private static final CelRuntime RUNTIME = CelRuntimeFactory.plannerRuntimeBuilder().build();

  private Cel() {}

  /**
   * @param oldObject empty at a creation
   */
  static boolean holds(
      String expression, Map<String, ?> object, Map<String, ?> oldObject, String username) {
    var variables = new HashMap<String, Object>();
    variables.put("object", object);
    variables.put("oldObject", oldObject);
    variables.put("request", Map.of("userInfo", Map.of("username", username)));
    variables.put("namespaceObject", Map.of("metadata", Map.of("name", "default")));
    try {
      var program = RUNTIME.createProgram(COMPILER.compile(expression).getAst());
      return (Boolean) program.eval(variables);
    } catch (CelValidationException | CelEvaluationException e) {
      throw new AssertionError(expression + "\non " + object, e);
    }
  }
}
