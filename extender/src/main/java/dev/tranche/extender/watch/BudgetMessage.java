package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.preempt.Budget.Requirement;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Reads the same fields from a PodDisruptionBudget's protobuf message as {@link BudgetReader} from
 * its JSON.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/api/policy/v1/generated.proto">the
 *     field numbers</a>
 */
final class BudgetMessage {
  private final List<Requirement> requirements = new ArrayList<>();
  private final Set<String> disrupted = new HashSet<>();
  private final MetadataFields metadata = new MetadataFields();
  private boolean selects;
  private int allowed;

  BudgetMessage read(CodedInputStream in) throws IOException {
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> metadata.read(in, of));
              case 2 -> ProtobufFields.message(in, of -> of == 2 && selector(in));
              case 3 -> ProtobufFields.message(in, of -> status(in, of));
              default -> false;
            });
    return this;
  }

  WatchedBudget watched() {
    List<Requirement> all = selects ? requirements : List.of(BudgetReader.NO_POD);
    return new WatchedBudget(
        metadata.uid,
        metadata.resourceVersion,
        new Budget(metadata.namespace, metadata.name, all, allowed, disrupted));
  }

  private boolean selector(CodedInputStream in) throws IOException {
    selects = true;
    return ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 1 ->
                  ProtobufFields.entry(
                      in,
                      (label, value) ->
                          requirements.add(new Requirement(label, "In", Set.of(value))));
              case 2 -> expression(in);
              default -> false;
            });
  }

  private boolean expression(CodedInputStream in) throws IOException {
    var text = new String[] {"", ""};
    var values = new HashSet<String>();
    ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 1, 2 -> ProtobufFields.text(in, text, number - 1);
              case 3 -> {
                values.add(in.readString());
                yield true;
              }
              default -> false;
            });
    return requirements.add(new Requirement(text[0], text[1], values));
  }

  private boolean status(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 2 -> {
        var pod = new String[] {""};
        ProtobufFields.message(in, of -> of == 1 && ProtobufFields.text(in, pod, 0));
        disrupted.add(pod[0]);
      }
      case 3 -> allowed = in.readInt32();
      default -> {
        return false;
      }
    }
    return true;
  }
}
