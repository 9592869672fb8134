package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.rbac.ClusterRole;
import io.fabric8.kubernetes.api.model.rbac.ClusterRoleBinding;
import io.fabric8.kubernetes.api.model.rbac.PolicyRule;
import io.fabric8.kubernetes.api.model.rbac.Role;
import io.fabric8.kubernetes.api.model.rbac.RoleBinding;
import io.fabric8.kubernetes.api.model.rbac.RoleRef;
import io.fabric8.kubernetes.api.model.rbac.Subject;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What each ServiceAccount of a rendering may do, a line {@code | account | where | what | verbs |}
 * per right.
 */
final class Rights {
  private final Map<String, List<PolicyRule>> roles = new HashMap<>();
  private final List<String> lines = new ArrayList<>();

  private Rights() {}

  static List<String> of(String yaml) {
    List<HasMetadata> objects =
        documents(yaml)
            .filter(document -> document.contains("\nkind: "))
            .map(document -> (HasMetadata) Serialization.unmarshal(document))
            .toList();
    var rights = new Rights();
    objects.forEach(rights::role);
    objects.forEach(rights::binding);
    objects.forEach(rights::powerless);
    return rights.lines;
  }

  private void role(HasMetadata object) {
    switch (object) {
      case ClusterRole role -> roles.put("ClusterRole " + name(role), role.getRules());
      case Role role -> roles.put("Role " + name(role), role.getRules());
      default -> {}
    }
  }

  private void binding(HasMetadata object) {
    switch (object) {
      case ClusterRoleBinding to -> grant(to.getSubjects(), "cluster", to.getRoleRef());
      case RoleBinding to ->
          grant(to.getSubjects(), "namespace " + to.getMetadata().getNamespace(), to.getRoleRef());
      default -> {}
    }
  }

  private void grant(List<Subject> subjects, String where, RoleRef to) {
    String role = to.getKind() + " " + to.getName();
    for (Subject subject : subjects) {
      String start = "| `%s` | %s | ".formatted(subject.getName(), where);
      List<PolicyRule> rules = roles.get(role);
      if (rules == null) {
        lines.add(start + "all of %s | its own |".formatted(role));
      } else {
        rules.forEach(rule -> lines.add(start + line(rule)));
      }
    }
  }

  /** An account that no binding names. */
  private void powerless(HasMetadata object) {
    if (object instanceof ServiceAccount account
        && lines.stream().noneMatch(line -> line.startsWith("| `" + name(account) + "`"))) {
      lines.add("| `%s` | nowhere | nothing | none |".formatted(name(account)));
    }
  }

  private static String line(PolicyRule rule) {
    var what = new ArrayList<String>();
    for (String resource : rule.getResources()) {
      for (String group : rule.getApiGroups()) {
        what.add(group.isEmpty() ? resource : resource + "." + group);
      }
    }
    String named =
        rule.getResourceNames().isEmpty()
            ? ""
            : " named " + String.join(", ", rule.getResourceNames());
    return "%s%s | %s |"
        .formatted(String.join(", ", what), named, String.join(", ", rule.getVerbs()));
  }

  private static String name(HasMetadata object) {
    return object.getMetadata().getName();
  }
}
