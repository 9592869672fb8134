package dev.tranche.nodeplugin.config;

import static java.util.Map.entry;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The raw text of every setting, by precedence: flag, environment, config file, default. */
public final class Settings {
  private static final Map<String, Setting> FLAG_ALIASES =
      Map.ofEntries(
          entry("nvidia-driver-root", Setting.DRIVER_ROOT),
          entry("nvidia-dev-root", Setting.DEV_ROOT),
          entry("container-driver-root", Setting.DRIVER_ROOT_CTR_PATH),
          entry("nvidia-ctk-path", Setting.NVIDIA_CDI_HOOK_PATH));
  private static final Map<String, Setting> VARIABLE_ALIASES =
      Map.ofEntries(
          entry("CONTAINER_DRIVER_ROOT", Setting.DRIVER_ROOT_CTR_PATH),
          entry("CONFIG_FILE_SRCDIR", Setting.CONFIG_DIR),
          entry("NVIDIA_CTK_PATH", Setting.NVIDIA_CDI_HOOK_PATH));
  private static final Set<Setting> LISTS =
      Set.of(
          Setting.DEVICE_LIST_STRATEGY,
          Setting.IMEX_CHANNEL_IDS,
          Setting.CDI_FEATURE_FLAGS,
          Setting.CDI_DISABLE_HOOKS);

  // NVIDIA's plugin passes these to its generator of CDI specs; ours has no such features.
  static final Set<Setting> WITHOUT_EFFECT = Set.of(Setting.CDI_FEATURE_FLAGS);

  private final EnumMap<Setting, String> given;
  private final Map<String, String> file;

  private Settings(EnumMap<Setting, String> given, Map<String, String> file) {
    this.given = given;
    this.file = file;
  }

  /**
   * Reads flags and environment. A flag is {@code --name value} or {@code --name=value}; a switch
   * needs no value.
   */
  public static Settings read(List<String> args, Map<String, String> env, ConfigErrors findings) {
    EnumMap<Setting, String> given = new EnumMap<>(Setting.class);
    VARIABLE_ALIASES.forEach((variable, setting) -> put(given, setting, env.get(variable)));
    for (Setting setting : Setting.values()) {
      put(given, setting, env.get(setting.variable()));
    }
    EnumMap<Setting, String> flags = new EnumMap<>(Setting.class);
    Iterator<String> rest = args.iterator();
    while (rest.hasNext()) {
      readFlag(rest.next(), rest, flags, findings);
    }
    given.putAll(flags);
    return new Settings(given, Map.of());
  }

  // An empty variable counts as not set, since manifests leave such variables behind.
  private static void put(EnumMap<Setting, String> given, Setting setting, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      given.put(setting, value);
    }
  }

  private static void readFlag(
      String arg, Iterator<String> rest, EnumMap<Setting, String> flags, ConfigErrors findings) {
    if (!arg.startsWith("-")) {
      findings.error("\"" + arg + "\" is not a flag; flags look like --sample-interval=1s");
      return;
    }
    int equals = arg.indexOf('=');
    String name = (equals < 0 ? arg : arg.substring(0, equals)).replaceFirst("^--?", "");
    Optional<Setting> setting = byFlag(name);
    if (setting.isEmpty()) {
      findings.error("unknown flag --" + name + "; --help lists them");
    } else if (equals >= 0) {
      add(flags, setting.get(), arg.substring(equals + 1));
    } else if (setting.get().isSwitch()) {
      add(flags, setting.get(), "true");
    } else if (rest.hasNext()) {
      add(flags, setting.get(), rest.next());
    } else {
      findings.error("--" + name + " lacks its value: " + setting.get().meaning());
    }
  }

  // The flag of a list may be repeated; of any other flag the last one counts.
  private static void add(EnumMap<Setting, String> flags, Setting setting, String value) {
    flags.merge(setting, value, (old, now) -> LISTS.contains(setting) ? old + "," + now : now);
  }

  private static Optional<Setting> byFlag(String name) {
    return Arrays.stream(Setting.values())
        .filter(s -> s.flag().equals(name))
        .findFirst()
        .or(() -> Optional.ofNullable(FLAG_ALIASES.get(name)));
  }

  /** Whether a key of the config file may have a list. */
  static boolean isList(String fileKey) {
    return LISTS.stream().anyMatch(setting -> setting.fileKey().equals(fileKey));
  }

  /** Returns the same flags and environment, with precedence over another config file. */
  public Settings withFile(ConfigFile configFile) {
    return new Settings(given, configFile.values());
  }

  public String text(Setting setting) {
    String value = given.get(setting);
    if (value == null && !setting.fileKey().isEmpty()) {
      value = file.get(setting.fileKey());
    }
    return value == null ? setting.fallback() : value;
  }

  /** Returns the items of a list, in order and without duplicates. */
  public List<String> list(Setting setting) {
    return Arrays.stream(text(setting).replaceAll("[\\[\\]]", "").split(",", -1))
        .map(String::strip)
        .filter(item -> !item.isEmpty())
        .distinct()
        .toList();
  }

  /** Returns whether it is set anywhere, rather than left at its default. */
  public boolean isSet(Setting setting) {
    return given.containsKey(setting) || file.containsKey(setting.fileKey());
  }

  public boolean isTrue(Setting setting, ConfigErrors findings) {
    return switch (text(setting)) {
      case "true", "1", "t", "T", "TRUE", "True" -> true;
      case "false", "0", "f", "F", "FALSE", "False" -> false;
      default -> {
        reportInvalid(setting, "true or false", findings);
        yield false;
      }
    };
  }

  /**
   * Returns a setting's number.
   *
   * @param form a regular expression whose first group is the number
   * @param allowed the bounds, for the error message
   * @return {@code least} if the value is wrong
   */
  int number(
      Setting setting, String form, int least, int most, String allowed, ConfigErrors findings) {
    Matcher match = Pattern.compile(form).matcher(text(setting));
    int number = match.matches() ? Integer.parseInt(match.group(1)) : -1;
    if (number < least || number > most) {
      reportInvalid(setting, allowed, findings);
      return least;
    }
    return number;
  }

  /** Reports what a setting must be, and what it is. */
  void reportInvalid(Setting setting, String allowed, ConfigErrors findings) {
    findings.error("%s is %s, not \"%s\"".formatted(describe(setting), allowed, text(setting)));
  }

  /** How a message names a setting: all the places that it may have come from. */
  public static String describe(Setting setting) {
    String inFile = setting.fileKey().isEmpty() ? "" : ", " + setting.fileKey();
    return "--" + setting.flag() + " (" + setting.variable() + inFile + ")";
  }

  /** Returns the settings that are set but have no effect here. */
  List<Setting> withoutEffect() {
    return WITHOUT_EFFECT.stream().filter(this::isSet).sorted().toList();
  }

  /** Returns the other names of its flag, then of its variable, each in alphabetical order. */
  static List<String> aliases(Setting setting) {
    return Stream.concat(
            keys(FLAG_ALIASES, setting).map(flag -> "--" + flag), keys(VARIABLE_ALIASES, setting))
        .toList();
  }

  private static Stream<String> keys(Map<String, Setting> aliases, Setting setting) {
    return aliases.entrySet().stream()
        .filter(alias -> alias.getValue() == setting)
        .map(Map.Entry::getKey)
        .sorted();
  }

  public static String help() {
    StringBuilder text = new StringBuilder("Flags, each with its environment variable:\n");
    for (Setting s : Setting.values()) {
      text.append(
          "  --%s (%s) %s [%s]\n"
              .formatted(
                  s.flag(),
                  Stream.concat(Stream.of(s.variable()), aliases(s).stream())
                      .collect(Collectors.joining(", ")),
                  s.meaning(),
                  s.fallback()));
    }
    return text.toString();
  }
}
