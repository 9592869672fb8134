package dev.tranche.webhook.guard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuardFailureTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '!',
      value = {
        "{\"name\":\"NVIDIA_VISIBLE_DEVICES\"}|true",
        "{\"name\":\"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\"}|true",
        "{\"name\":\"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT\"}|true",
        "{\"name\":\"NVIDIA_GPU_MEMORY_LIMIT\"}|true",
        "{\"cdi.k8s.io/x\":\"nvidia.com/gpu=all\"}|true",
        "{\"mountPath\":\"/var/run/nvidia-container-devices/all\"}|true",
        "{\"privileged\":true}|false",
        "{\"hostPath\":{\"path\":\"/dev\"}}|false",
        "{\"envFrom\":[{\"prefix\":\"A\"}]}|false",
        "{\"privileged\":false,\"image\":\"cuda\"}|false"
      })
  void podOfADefect_isSuspect_onlyIfAWorkingGuardWouldTouchIt(String review, boolean suspect) {
    var failure = new GuardFailure(review.getBytes(UTF_8), List.of());
    assertThat(failure.isSuspect(GuardMode.VOID)).isEqualTo(suspect);
    assertThat(failure.isSuspect(GuardMode.AUDIT)).isFalse();
    assertThat(failure.isSuspect(GuardMode.DENY)).as("a policy decides").isFalse();
  }
}
