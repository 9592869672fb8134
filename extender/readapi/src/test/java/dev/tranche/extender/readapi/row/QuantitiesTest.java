package dev.tranche.extender.readapi.row;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Quantity;
import java.math.BigDecimal;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class QuantitiesTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 1",
    "1024, 1Ki",
    "1025, 1025",
    "671088640, 640Mi",
    "10737418240, 10Gi",
    "1099511627776, 1Ti",
    "1125899906842624, 1024Ti",
  })
  void bytes_areExact(long bytes, String quantity) {
    assertThat(new MemoryQuantity(bytes)).hasToString(quantity);
    assertThat(Quantity.getAmountInBytes(Quantity.parse(quantity)))
        .isEqualByComparingTo(BigDecimal.valueOf(bytes));
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "2, 2", "0.3, 300m", "0.30000000000000004, 300m", "1.15, 1150m"})
  void gpus_areToTheThousandth(double gpus, String quantity) {
    assertThat(GpuQuantity.of(gpus)).hasToString(quantity);
  }
}
