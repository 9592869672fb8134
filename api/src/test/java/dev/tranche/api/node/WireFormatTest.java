package dev.tranche.api.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.TextFormat;
import java.io.IOException;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Parts of neighbouring versions speak with each other during an upgrade, and a node plugin reads
 * the assignments that the version before has kept. So what a message of 0.1.0 says means the same
 * today. The file is frozen: a field may be added, and none may change.
 */
class WireFormatTest {
  private static final String FROZEN = "/formats/0.1.0/node_report.txtpb";

  private static FileDescriptorProto frozen() throws IOException {
    try (var file = WireFormatTest.class.getResourceAsStream(FROZEN)) {
      var text = new String(Objects.requireNonNull(file, FROZEN).readAllBytes(), UTF_8);
      return TextFormat.parse(text, FileDescriptorProto.class);
    }
  }

  @Test
  void fieldsOfAnEarlierVersion_areAsTheyWere() throws IOException {
    Map<String, DescriptorProto> now =
        NodeReportProto.getDescriptor().toProto().getMessageTypeList().stream()
            .collect(Collectors.toMap(DescriptorProto::getName, message -> message));
    for (DescriptorProto before : frozen().getMessageTypeList()) {
      assertThat(now).containsKey(before.getName());
      Map<Integer, FieldDescriptorProto> fields =
          now.get(before.getName()).getFieldList().stream()
              .collect(Collectors.toMap(FieldDescriptorProto::getNumber, field -> field));
      for (FieldDescriptorProto field : before.getFieldList()) {
        assertThat(fields.get(field.getNumber()))
            .as("field %d of %s", field.getNumber(), before.getName())
            .isEqualTo(field);
      }
    }
  }

  @Test
  void valuesOfEarlierEnums_areAsTheyWere() throws IOException {
    Map<String, EnumDescriptorProto> now =
        NodeReportProto.getDescriptor().toProto().getEnumTypeList().stream()
            .collect(Collectors.toMap(EnumDescriptorProto::getName, type -> type));
    for (EnumDescriptorProto before : frozen().getEnumTypeList()) {
      assertThat(now).containsKey(before.getName());
      Map<Integer, String> values =
          now.get(before.getName()).getValueList().stream()
              .collect(
                  Collectors.toMap(
                      EnumValueDescriptorProto::getNumber, EnumValueDescriptorProto::getName));
      before
          .getValueList()
          .forEach(value -> assertThat(values).containsEntry(value.getNumber(), value.getName()));
    }
  }

  @Test
  void procedureOfAnEarlierVersion_isThere() throws IOException {
    assertThat(NodeReportProto.getDescriptor().toProto().getServiceList())
        .containsAll(frozen().getServiceList());
  }

  /** A later version's report has fields that this one does not know, and is read all the same. */
  @Test
  void fieldOfALaterVersion_isIgnored() throws Exception {
    int unused =
        1
            + NodeReport.getDescriptor().getFields().stream()
                .mapToInt(FieldDescriptor::getNumber)
                .max()
                .orElseThrow();
    var later = com.google.protobuf.UnknownFieldSet.newBuilder();
    later.mergeVarintField(unused, 7);
    byte[] sent =
        NodeReport.newBuilder().setNode("a").setUnknownFields(later.build()).build().toByteArray();
    assertThat(NodeReport.parseFrom(sent).getNode()).isEqualTo("a");
  }
}
