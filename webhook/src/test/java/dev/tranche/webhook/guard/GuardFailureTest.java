package dev.tranche.webhook.guard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuardFailureTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '!',
      value = {
        "{\"name\":\"NVIDIA_VISIBLE_DEVICES\"}|false|true|true",
        "{\"name\":\"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\"}|false|true|true",
        "{\"name\":\"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT\"}|false|true|true",
        "{\"name\":\"NVIDIA_GPU_MEMORY_LIMIT\"}|false|true|true",
        "{\"cdi.k8s.io/x\":\"nvidia.com/gpu=all\"}|false|true|true",
        "{\"mountPath\":\"/var/run/nvidia-container-devices/all\"}|false|true|true",
        "{\"privileged\":true}|false|false|true",
        "{\"hostPath\":{\"path\":\"/dev\"}}|false|false|true",
        "{\"envFrom\":[{\"prefix\":\"A\"}]}|false|false|true",
        "{\"privileged\":false,\"image\":\"cuda\"}|false|false|false"
      })
  void podOfADefect_isSuspect_onlyIfAWorkingGuardWouldTouchIt(
      String review, boolean audit, boolean voids, boolean deny) {
    var failure = new GuardFailure(review.getBytes(UTF_8), List.of());
    assertThat(failure.isSuspect(GuardMode.AUDIT)).isEqualTo(audit);
    assertThat(failure.isSuspect(GuardMode.VOID)).isEqualTo(voids);
    assertThat(failure.isSuspect(GuardMode.DENY)).isEqualTo(deny);
  }

  @Test
  void uid_isTheRequests_thoughThePodHasOne() {
    String review = "{\"request\":{\"uid\":\"u-1\",\"object\":{\"metadata\":{\"uid\":\"p\"";
    assertThat(new GuardFailure(review.getBytes(UTF_8), List.of()).uid()).isEqualTo("u-1");
    assertThat(new GuardFailure("{}".getBytes(UTF_8), List.of()).uid()).isEmpty();
  }
}
