package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketFileIT {
  @TempDir Path folder;

  @Test
  void anothersFile_isNotOurs_andIsNotDeleted() throws Exception {
    Path path = folder.resolve("tranche-gpu-0123abcd.sock");
    assertThat(SocketFile.listenedOn(path).isThere()).isFalse();
    var socket = SocketFile.listenedOn(Files.createFile(path));
    assertThat(socket.isThere()).isTrue();
    Files.move(socket.path(), folder.resolve("aside"));
    Files.createFile(socket.path());
    assertThat(socket.isThere()).isFalse();
    socket.delete();
    assertThat(socket.path()).exists();
  }

  @Test
  void folderThatIsRemovedUnderAMount_isSeen() throws Exception {
    Path dp = Files.createDirectory(folder.resolve("dp"));
    assertThat(SocketFile.removed(dp)).isFalse();
    // A process's working directory goes on being there, as a mount in a container does.
    Process stays = new ProcessBuilder("sleep", "60").directory(dp.toFile()).start();
    try {
      Path held = Path.of("/proc/" + stays.pid() + "/cwd");
      assertThat(SocketFile.removed(held)).isFalse();
      Files.delete(dp);
      assertThat(SocketFile.removed(held)).isTrue();
    } finally {
      stays.destroyForcibly();
    }
    assertThat(SocketFile.removed(dp)).isFalse();
  }
}
