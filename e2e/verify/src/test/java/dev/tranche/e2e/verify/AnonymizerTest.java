package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AnonymizerTest {
  private final Anonymizer anonymizer = new Anonymizer("gpu-box", "/home/alice");

  @Test
  void uuids_keepWhatTellsThemApart() {
    assertThat(
            anonymizer.anonymize(
                "GPU-1a2b3c4d-0000-1111-2222-333344445555::0,"
                    + "MIG-5e6f7a8b-0000-1111-2222-333344445555,"
                    + "MIG-GPU-9a8b7c6d-0000-1111-2222-333344445555/7/0"))
        .isEqualTo("GPU-1a2b…::0,MIG-5e6f…,MIG-GPU-9a8b…");
  }

  @Test
  void namesOfMachineAndUser_areGone() {
    assertThat(anonymizer.anonymize("/home/alice/tranche on gpu-box, not on gpu-box-2"))
        .isEqualTo("~/tranche on HOST, not on gpu-box-2");
  }

  @Test
  void domainOfTheMachine_isGone() {
    assertThat(anonymizer.anonymize("gpu-box.corp.example.com, gpu-box: gpu-box."))
        .isEqualTo("HOST, HOST: HOST.");
    Anonymizer qualified = new Anonymizer("gpu-box.corp.example.com", "/root");
    assertThat(qualified.anonymize("gpu-box.corp.example.com gpu-box ldap.corp.example.com"))
        .isEqualTo("HOST HOST ldap.DOMAIN");
  }

  @Test
  void foldersOfOtherUsers_areNotNamed() {
    Anonymizer root = new Anonymizer("gpu-box", "/root");
    assertThat(root.anonymize("/home/alice/lib:/home/bob /root/x"))
        .isEqualTo("/home/USER/lib:/home/USER ~/x");
  }

  @Test
  void unknownNames_changeNothing() {
    assertThat(new Anonymizer("", "/").anonymize("/usr/lib64 is here"))
        .isEqualTo("/usr/lib64 is here");
  }
}
