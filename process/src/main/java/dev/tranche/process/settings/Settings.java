package dev.tranche.process.settings;

import static java.util.stream.Collectors.joining;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The text of every setting, by precedence: flag, environment, config file, default. What a process
 * reads from it is checked; a wrong value is reported, and another one returned in its place.
 *
 * @param <S> the settings of the process
 */
public final class Settings<S extends Enum<S> & ProcessSetting> {
  /** Of a name that Kubernetes takes for a namespace or a Service. */
  public static final int DNS_LABEL_CHARS_MAX = 63;

  private static final Pattern DNS_LABEL = Pattern.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");

  /** Of the installation, since names of objects are made from it. */
  public static final int NAME_CHARS_MAX = 40;

  /** Namespace and name of a ServiceAccount, its groups. */
  public static final Pattern SERVICE_ACCOUNT =
      Pattern.compile("([a-z0-9][-a-z0-9]*):([a-z0-9][-a-z0-9.]*)");

  public static final String SERVICE_ACCOUNT_ALLOWED =
      "namespace:name, for example monitoring:dcgm-exporter";

  private static final Pattern RESOURCE =
      Pattern.compile("[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,6})(ms|s|m|h|d)");
  private static final int DIGITS_MAX = 9;

  private final EnumSet<S> all;
  private final Map<S, String> given;
  private final Map<String, String> file;
  private final ConfigErrors errors;

  private Settings(
      EnumSet<S> all, Map<S, String> given, Map<String, String> file, ConfigErrors errors) {
    this.all = all;
    this.given = given;
    this.file = file;
    this.errors = errors;
  }

  /**
   * Reads flags and environment. A flag is {@code --name value} or {@code --name=value}; a switch
   * needs no value.
   *
   * @param type has all settings
   * @param errors receives what is wrong, also of values that are read later
   */
  public static <S extends Enum<S> & ProcessSetting> Settings<S> read(
      Class<S> type, List<String> args, Map<String, String> env, ConfigErrors errors) {
    EnumSet<S> all = EnumSet.allOf(type);
    Map<S, String> given = new EnumMap<>(type);
    for (S setting : all) {
      Stream.concat(setting.variableAliases().stream(), Stream.of(setting.variable()))
          .forEach(variable -> put(given, setting, env.get(variable)));
    }
    Map<S, String> flags = new EnumMap<>(type);
    Deque<String> rest = new ArrayDeque<>(args);
    while (!rest.isEmpty()) {
      readFlag(rest.pop(), rest, all, flags, errors);
    }
    given.putAll(flags);
    return new Settings<>(all, given, Map.of(), errors);
  }

  private static <S extends ProcessSetting> void put(
      Map<S, String> given, S setting, @Nullable String value) {
    if (value != null && (!value.isEmpty() || setting.isEmptyAllowed())) {
      given.put(setting, value);
    }
  }

  private static <S extends Enum<S> & ProcessSetting> void readFlag(
      String arg, Deque<String> rest, EnumSet<S> all, Map<S, String> flags, ConfigErrors errors) {
    if (!arg.startsWith("-")) {
      errors.error("\"" + arg + "\" is not a flag; flags look like --name=value");
      return;
    }
    int equals = arg.indexOf('=');
    String name = (equals < 0 ? arg : arg.substring(0, equals)).replaceFirst("^--?", "");
    Optional<S> setting =
        all.stream()
            .filter(each -> each.flag().equals(name) || each.flagAliases().contains(name))
            .findFirst();
    if (setting.isEmpty()) {
      errors.error("unknown flag --" + name + "; --help lists them");
    } else if (equals >= 0) {
      add(flags, setting.get(), arg.substring(equals + 1));
    } else if (setting.get().isSwitch() && !isBoolean(rest.peek())) {
      add(flags, setting.get(), "true");
    } else if (!rest.isEmpty()) {
      add(flags, setting.get(), rest.pop());
    } else {
      errors.error("--" + name + " lacks its value: " + setting.get().meaning());
    }
  }

  private static boolean isBoolean(@Nullable String next) {
    return "true".equals(next) || "false".equals(next);
  }

  /** The flag of a list may be repeated; of any other flag the last one counts. */
  private static <S extends ProcessSetting> void add(
      Map<S, String> flags, S setting, String value) {
    flags.merge(setting, value, (old, now) -> setting.isList() ? old + "," + now : now);
  }

  public static boolean isHelpRequested(List<String> args) {
    return args.contains("--help") || args.contains("-h");
  }

  /**
   * @param duty of the process, a sentence
   */
  public static <S extends Enum<S> & ProcessSetting> String help(Class<S> type, String duty) {
    return EnumSet.allOf(type).stream()
        .map(
            setting ->
                "  --%s (%s) %s [%s]\n"
                    .formatted(
                        setting.flag(),
                        Stream.concat(Stream.of(setting.variable()), setting.aliases().stream())
                            .collect(joining(", ")),
                        setting.meaning(),
                        setting.fallback()))
        .collect(joining("", duty + "\nFlags, each with its environment variable:\n", ""));
  }

  /** Returns the same flags and environment, with precedence over a config file. */
  public Settings<S> withFile(Map<String, String> values, ConfigErrors errors) {
    return new Settings<>(all, given, values, errors);
  }

  /** Returns all of them as flags, from wherever they come. */
  @Override
  public String toString() {
    return all.stream().map(s -> "--" + s.flag() + "=" + text(s)).collect(joining(" "));
  }

  public String text(S setting) {
    return given.getOrDefault(setting, file.getOrDefault(setting.fileKey(), setting.fallback()));
  }

  /** Returns the items of a list, in order, without empty ones and duplicates. */
  public List<String> list(S setting) {
    return Arrays.stream(text(setting).replaceAll("[\\[\\]]", "").split(",", -1))
        .map(String::strip)
        .filter(item -> !item.isEmpty())
        .distinct()
        .toList();
  }

  /** Returns the items of a list, and reports those of another form. */
  public List<String> list(S setting, Pattern form, String allowed) {
    List<String> items = list(setting);
    items.stream()
        .filter(item -> !form.matcher(item).matches())
        .forEach(item -> reportInvalid(setting, item, allowed));
    return items;
  }

  /** Returns names of extended resources, at least one. */
  public List<String> resources(S setting) {
    String allowed = "extended resources, for example nvidia.com/gpu";
    List<String> resources = list(setting, RESOURCE, allowed);
    return resources.isEmpty() ? invalid(setting, allowed, List.of(setting.fallback())) : resources;
  }

  /** Returns whether it is set anywhere, rather than left at its default. */
  public boolean isSet(S setting) {
    return given.containsKey(setting) || file.containsKey(setting.fileKey());
  }

  public boolean isTrue(S setting) {
    return switch (text(setting)) {
      case "true", "1", "t", "T", "TRUE", "True" -> true;
      case "false", "0", "f", "F", "FALSE", "False" -> false;
      default -> invalid(setting, "true or false", false);
    };
  }

  /**
   * @param unit follows the number; may be empty
   * @return {@code least} if the value is wrong
   */
  public int number(S setting, String unit, int least, int most) {
    String text = text(setting);
    String digits = text.endsWith(unit) ? text.substring(0, text.length() - unit.length()) : "";
    boolean readable = digits.matches("\\d{1," + DIGITS_MAX + "}");
    if (!readable || Integer.parseInt(digits) < least || Integer.parseInt(digits) > most) {
      String allowed = "a whole number from %d%s to %d%s".formatted(least, unit, most, unit);
      return invalid(setting, allowed, least);
    }
    return Integer.parseInt(digits);
  }

  /**
   * @param least such as {@code 100ms}
   * @return {@code least} if the value is wrong
   */
  public Duration duration(S setting, String least, String most) {
    Duration shortest = parsed(least).orElseThrow();
    return parsed(text(setting))
        .filter(d -> d.compareTo(shortest) >= 0 && d.compareTo(parsed(most).orElseThrow()) <= 0)
        .orElseGet(() -> invalid(setting, least + " to " + most, shortest));
  }

  private static Optional<Duration> parsed(String text) {
    Matcher match = DURATION.matcher(text);
    if (!match.matches()) {
      return Optional.empty();
    }
    long number = Long.parseLong(match.group(1));
    return Optional.of(
        switch (match.group(2)) {
          case "ms" -> Duration.ofMillis(number);
          case "s" -> Duration.ofSeconds(number);
          case "m" -> Duration.ofMinutes(number);
          case "h" -> Duration.ofHours(number);
          default -> Duration.ofDays(number);
        });
  }

  public HostPort hostPort(S setting) {
    return HostPort.parse(text(setting))
        .orElseGet(
            () -> {
              reportInvalid(setting, "host:port, for example 0.0.0.0:9090");
              return new HostPort("127.0.0.1", 0);
            });
  }

  /** Returns a name that Kubernetes takes for a namespace or a Service. */
  public String dnsLabel(S setting, int charsMax) {
    String text = text(setting);
    if (text.length() > charsMax || !DNS_LABEL.matcher(text).matches()) {
      reportInvalid(setting, dnsLabelAllowed(charsMax));
    }
    return text;
  }

  private static String dnsLabelAllowed(int charsMax) {
    return "lower-case letters, digits and inner dashes, at most " + charsMax;
  }

  /** Returns such a name; it may be empty. */
  public String dnsLabelOrNone(S setting) {
    return text(setting).isEmpty() ? "" : dnsLabel(setting, DNS_LABEL_CHARS_MAX);
  }

  /** Returns a list of such names. */
  public List<String> dnsLabels(S setting) {
    return list(setting, DNS_LABEL, dnsLabelAllowed(DNS_LABEL_CHARS_MAX));
  }

  /**
   * @param allowed the constants whose names may be given
   * @return the first one if the value is wrong
   */
  public <E extends Enum<E>> E oneOf(S setting, List<E> allowed) {
    return oneOf(setting, text(setting), allowed);
  }

  /** Returns the constants that a list names. */
  public <E extends Enum<E>> List<E> someOf(S setting, List<E> allowed) {
    return list(setting).stream().map(item -> oneOf(setting, item, allowed)).toList();
  }

  private <E extends Enum<E>> E oneOf(S setting, String name, List<E> allowed) {
    List<String> names = allowed.stream().map(Settings::nameOf).toList();
    return allowed.get(names.indexOf(checked(setting, name, names)));
  }

  /** Whether it is the second of two words. */
  public boolean isSecond(S setting, String first, String second) {
    return checked(setting, text(setting), List.of(first, second)).equals(second);
  }

  private String checked(S setting, String word, List<String> allowed) {
    if (allowed.contains(word)) {
      return word;
    }
    reportInvalid(setting, word, String.join(", ", allowed));
    return allowed.getFirst();
  }

  private static String nameOf(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Reports that a setting's value is wrong, and returns what counts instead. */
  private <T> T invalid(S setting, String allowed, T instead) {
    reportInvalid(setting, allowed);
    return instead;
  }

  /** Reports that a setting's value is wrong. */
  public void reportInvalid(S setting, String allowed) {
    reportInvalid(setting, text(setting), allowed);
  }

  /** Reports that a value, of the setting or of its list, is wrong. */
  public void reportInvalid(S setting, String value, String allowed) {
    errors.invalid(setting.describe(), value, allowed);
  }

  public void warning(String sentence) {
    errors.warning(sentence);
  }
}
