package dev.tranche.nodeplugin.usage;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CgroupPathTest {
  private static final String UID = "0a1b2c3d-1111-2222-3333-444455556666";
  private static final String UID_SYSTEMD = UID.replace('-', '_');
  private static final String ID = "ab12".repeat(16);
  private static final String OTHER_ID = "cd34".repeat(16);

  private static String filled(String path) {
    return path.replace("UIDS", UID_SYSTEMD)
        .replace("UID", UID)
        .replace("OTHER", OTHER_ID)
        .replace("ID", ID);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        // version 2: systemd with containerd, CRI-O (crun has a child), Docker; cgroupfs
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUIDS.slice/cri-containerd-ID.scope",
        "0::/kubepods.slice/kubepods-podUIDS.slice/crio-ID.scope/container",
        "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podUIDS.slice/docker-ID.scope",
        "0::/kubepods/besteffort/podUID/ID",
        "0::/kubepods/podUID/ID",
        // seen from a cgroup namespace of our own
        "0::/../../kubepods-burstable-podUIDS.slice/cri-containerd-ID.scope",
        "0::/../podUID/ID/init.scope",
        // containerd under a kubelet of the other driver
        "0::/system.slice/kubepods-burstable-podUIDS.slice:cri-containerd:ID",
        // a node that is itself a container
        "0::/docker/OTHER/kubelet/kubepods/burstable/podUID/ID",
        // version 1
        "12:pids:/user.slice\n11:memory:/kubepods/burstable/podUID/ID\n1:name=systemd:/kubepods/burstable/podUID/ID",
      })
  void container_isFound(String path) {
    assertThat(CgroupPath.parse(filled(path))).contains(new CgroupPath(UID, ID));
  }

  @Test
  void staticPod_hasAHashForItsUid() {
    String hash = "0123456789abcdef".repeat(2);
    assertThat(CgroupPath.parse("0::/kubepods/burstable/pod" + hash + "/" + ID))
        .contains(new CgroupPath(hash, ID));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0::/system.slice/gdm.service",
        "0::/user.slice/user-1000.slice/session-2.scope",
        "0::/docker/ID",
        "0::/kubepods/burstable/podUID",
        "",
      })
  void processOfNoPod_isNobodys(String path) {
    assertThat(CgroupPath.parse(filled(path))).isEmpty();
  }
}
