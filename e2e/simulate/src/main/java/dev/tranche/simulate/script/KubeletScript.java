package dev.tranche.simulate.script;

import java.util.function.Consumer;

/**
 * What happens to a kubelet whose plugin has started. {@code e2e/recorded/record.sh} records what a
 * real one does then; a test compares the model with that.
 */
@SuppressWarnings("ImmutableEnumChecker") // The steps keep nothing.
public enum KubeletScript implements Script<KubeletStage> {
  ONE_POD(
      on -> {
        on.pod("p", 2);
        on.pass(4);
      }),
  PLUGIN_PREFERS_THE_LAST(
      on -> {
        on.plugin().preferLast();
        on.pod("p", 2);
        on.pass(4);
        on.pod("q", 2);
        on.pass(4);
      }),
  ONE_POD_AFTER_THE_OTHER(
      on -> {
        on.plugin().slow(3);
        on.pod("p", 2);
        on.pass(1);
        on.pod("q", 2);
        on.pass(3);
        on.pass(6);
      }),
  PLUGIN_REFUSES(
      on -> {
        on.plugin().refuse(1);
        on.pod("p", 2);
        on.pass(4);
        on.pod("q", 6);
        on.pass(4);
      }),
  TOO_FEW_DEVICES(
      on -> {
        on.pod("p", 4);
        on.pass(4);
        on.pod("q", 3);
        on.pass(4);
      }),
  POD_THAT_ENDS_SLOWLY_KEEPS_ITS_DEVICES(
      on -> {
        on.pod("p", 4);
        on.pass(4);
        on.delete("p");
        on.pass(2);
        on.pod("q", 2);
        on.pass(6);
        on.pod("r", 4);
        on.pass(4);
      }),
  POD_THAT_HAS_ENDED_GIVES_ITS_DEVICES_BACK(
      on -> {
        on.pod("p", 4, 3);
        on.pass(8);
        on.pod("q", 4);
        on.pass(4);
      }),
  UNHEALTHY_DEVICE_IS_NOT_OFFERED(
      on -> {
        on.healthy("d0", false);
        on.pass(2);
        on.pod("p", 2);
        on.pass(4);
        on.healthy("d0", true);
        on.pass(2);
        on.pod("q", 2);
        on.pass(4);
      }),
  POD_KEEPS_A_DEVICE_THAT_FAILS(
      on -> {
        on.pod("p", 2);
        on.pass(4);
        on.healthy("d0", false);
        on.pass(3);
      }),
  PLUGIN_ENDS(
      on -> {
        on.pod("p", 2);
        on.pass(4);
        on.stopPlugin();
        on.pass(3);
        on.pod("q", 2);
        on.pass(4);
      }),
  PLUGIN_STARTS_AGAIN(
      on -> {
        on.pod("p", 2);
        on.pass(4);
        on.stopPlugin();
        on.pass(2);
        on.startPlugin();
        on.pass(3);
        on.pod("q", 2);
        on.pass(4);
      }),
  KUBELET_STARTS_AGAIN(
      on -> {
        on.pod("p", 2);
        on.pass(4);
        on.restartKubelet();
        on.pass(3);
        on.startPlugin();
        on.pass(4);
        on.pod("q", 2);
        on.pass(4);
      });

  private final Consumer<KubeletStage> steps;

  KubeletScript(Consumer<KubeletStage> steps) {
    this.steps = steps;
  }

  @Override
  public void play(KubeletStage stage) {
    stage.startPlugin();
    stage.pass(3);
    steps.accept(stage);
  }
}
