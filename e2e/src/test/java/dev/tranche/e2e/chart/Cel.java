package dev.tranche.e2e.chart;

import dev.cel.common.CelFunctionDecl;
import dev.cel.common.CelOverloadDecl;
import dev.cel.common.CelValidationException;
import dev.cel.common.types.SimpleType;
import dev.cel.compiler.CelCompiler;
import dev.cel.compiler.CelCompilerFactory;
import dev.cel.parser.CelStandardMacro;
import dev.cel.runtime.CelEvaluationException;
import dev.cel.runtime.CelFunctionBinding;
import dev.cel.runtime.CelRuntime;
import dev.cel.runtime.CelRuntimeFactory;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MatchCondition;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.ValidatingAdmissionPolicySpec;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.Variable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Evaluates expressions of admission rules, with objects as the API server hands them over. */
final class Cel {
  /** The key in a request of what its user may do, in the words in which a policy asks for it. */
  static final String RIGHT = "right";

  /** How a policy asks the authorizer, which is a text here: the right, and what was asked. */
  private static final List<String> AUTHORIZER =
      List.of("group", "resource", "subresource", "namespace", "name", "check");

  private static final CelCompiler COMPILER =
      CelCompilerFactory.standardCelCompilerBuilder()
          .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
          .addVar("object", SimpleType.DYN)
          .addVar("oldObject", SimpleType.DYN)
          .addVar("request", SimpleType.DYN)
          .addVar("namespaceObject", SimpleType.DYN)
          .addVar("variables", SimpleType.DYN)
          .addVar("authorizer", SimpleType.DYN)
          .addFunctionDeclarations(AUTHORIZER.stream().map(Cel::declaration).toList())
          .addFunctionDeclarations(
              CelFunctionDecl.newFunctionDeclaration(
                  "allowed",
                  CelOverloadDecl.newMemberOverload("allowed", SimpleType.BOOL, SimpleType.DYN)))
          .build();
  private static final CelRuntime RUNTIME =
      CelRuntimeFactory.plannerRuntimeBuilder().addFunctionBindings(authorizerSteps()).build();

  private static final Map<String, ?> NAMESPACE = Map.of("metadata", Map.of("name", "default"));

  private Cel() {}

  private static CelFunctionDecl declaration(String step) {
    return CelFunctionDecl.newFunctionDeclaration(
        step,
        CelOverloadDecl.newMemberOverload(step, SimpleType.DYN, SimpleType.DYN, SimpleType.STRING));
  }

  private static List<CelFunctionBinding> authorizerSteps() {
    var steps = new ArrayList<CelFunctionBinding>();
    for (String step : AUTHORIZER) {
      steps.addAll(
          CelFunctionBinding.fromOverloads(
              step,
              CelFunctionBinding.from(
                  step, String.class, String.class, (asked, word) -> asked + " " + word)));
    }
    steps.addAll(
        CelFunctionBinding.fromOverloads(
            "allowed",
            CelFunctionBinding.from(
                "allowed",
                String.class,
                asked -> asked.split(": ", 2)[0].equals(asked.split(": ", 2)[1]))));
    return steps;
  }

  /**
   * @param oldObject empty at a creation
   */
  static boolean holds(
      String expression, Map<String, ?> object, Map<String, ?> oldObject, String username) {
    var variables = new HashMap<String, @Nullable Object>();
    variables.put("object", object);
    variables.put("oldObject", oldObject);
    variables.put(
        "request", Map.of("userInfo", user(username), "operation", "UPDATE", "namespace", "n"));
    variables.put("namespaceObject", NAMESPACE);
    return (Boolean) evaluate(expression, variables);
  }

  /** What the API server says of a user; a kubelet is in the group of all nodes. */
  static Map<String, Object> user(String name) {
    return name.startsWith("system:node:")
        ? Map.of("username", name, "groups", List.of("system:nodes", "system:authenticated"))
        : Map.of("username", name, "groups", List.of("system:authenticated"));
  }

  /**
   * Returns the messages with which a policy refuses a request.
   *
   * @param request what the API server says of it; the user's name may be missing
   */
  static List<String> refusals(
      ValidatingAdmissionPolicySpec policy,
      Map<String, ?> request,
      Map<String, ?> object,
      @Nullable Map<String, ?> oldObject) {
    var bindings = new HashMap<String, @Nullable Object>();
    bindings.put("object", object);
    bindings.put("oldObject", oldObject);
    bindings.put("request", request);
    bindings.put("namespaceObject", NAMESPACE);
    bindings.put("authorizer", (request.containsKey(RIGHT) ? request.get(RIGHT) : "none") + ":");
    for (MatchCondition condition : policy.getMatchConditions()) {
      if (!(Boolean) evaluate(condition.getExpression(), bindings)) {
        return List.of();
      }
    }
    var variables = new HashMap<String, Object>();
    bindings.put("variables", variables);
    for (Variable variable : policy.getVariables()) {
      try {
        variables.put(variable.getName(), evaluate(variable.getExpression(), bindings));
      } catch (AssertionError _) {
        // The API server evaluates a variable where it is used: without it, its use fails.
      }
    }
    return policy.getValidations().stream()
        .filter(validation -> !(Boolean) evaluate(validation.getExpression(), bindings))
        .map(
            validation ->
                validation.getMessageExpression() == null
                    ? validation.getMessage()
                    : (String) evaluate(validation.getMessageExpression(), bindings))
        .toList();
  }

  private static Object evaluate(String expression, Map<String, @Nullable Object> bindings) {
    try {
      var program = RUNTIME.createProgram(COMPILER.compile(expression).getAst());
      return program.eval(bindings);
    } catch (CelValidationException | CelEvaluationException e) {
      throw new AssertionError(expression + "\non " + bindings.get("object"), e);
    }
  }
}
