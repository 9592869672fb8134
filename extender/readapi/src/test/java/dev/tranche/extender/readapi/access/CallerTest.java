package dev.tranche.extender.readapi.access;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CallerTest {
  private static String sender(String name) {
    return new Caller.User(name, "", List.of(), Map.of()).sender();
  }

  @Test
  void serviceAccountsOfANamespace_areOneSender() {
    assertThat(sender("system:serviceaccount:team-a:one"))
        .isEqualTo(sender("system:serviceaccount:team-a:two"))
        .isNotEqualTo(sender("system:serviceaccount:team-b:one"));
  }

  @Test
  void users_areSendersOfTheirOwn_alsoWhereTheirNameIsThatOfANamespace() {
    assertThat(sender("jane")).isNotEqualTo(sender("joe"));
    assertThat(sender("team-a")).isNotEqualTo(sender("system:serviceaccount:team-a:one"));
    assertThat(sender("system:serviceaccount:team-a"))
        .isNotEqualTo(sender("system:serviceaccount:team-a:one"));
  }
}
